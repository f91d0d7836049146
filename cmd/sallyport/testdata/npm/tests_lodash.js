import "vitest/qunit.js";
import { run } from "vitest";
import one from "./own/lodash/1.txt"; // a file of a script has 512 KiB at most
import two from "./own/lodash/2.txt";
import { tool } from "sallyport";

Function(one + two).call(globalThis); // a module is strict, and these tests are not

tool("tests", "", run);
