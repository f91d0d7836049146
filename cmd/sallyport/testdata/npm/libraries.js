// The script: the answers of all cases, and the tests that zod has in its package.
import { tool } from "sallyport";
import { run } from "vitest";
import { answers } from "./cases.js";
import "./node_modules/zod/src/v4/classic/tests/coerce.test.ts";
import "./node_modules/zod/src/v4/classic/tests/datetime.test.ts";
import "./node_modules/zod/src/v4/classic/tests/pickomit.test.ts";

tool("answers", "", () => answers());
tool("tests", "", () => run());
