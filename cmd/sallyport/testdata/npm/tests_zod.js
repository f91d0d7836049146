import { run } from "vitest";
import "./node_modules/zod/src/v4/classic/tests/coerce.test.ts";
import "./node_modules/zod/src/v4/classic/tests/datetime.test.ts";
import "./node_modules/zod/src/v4/classic/tests/pickomit.test.ts";
import { tool } from "sallyport";

tool("tests", "", run);
