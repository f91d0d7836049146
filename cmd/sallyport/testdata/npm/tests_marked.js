import "vitest/globals.js";
import { run } from "vitest";
import "./node_modules/marked-4/test/unit/Lexer-spec.js";
import "./node_modules/marked-4/test/unit/Parser-spec.js";
import { marked } from "./node_modules/marked-4/src/marked.js";
import commonmark from "./node_modules/marked-4/test/specs/commonmark/commonmark.0.30.json";
import gfm from "./node_modules/marked-4/test/specs/gfm/gfm.0.29.json";
import { tool } from "sallyport";

for (const [flavour, examples] of Object.entries({ commonmark, gfm }))
  for (const e of examples) test(`${flavour} ${e.example} ${e.section}`, () => expect(marked(e.markdown, { gfm: flavour === "gfm", pedantic: false, headerIds: false })).toEqualHtml(e.html));

tool("tests", "", run);
