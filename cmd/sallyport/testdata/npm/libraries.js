// The script: the answers of all cases.
import { tool } from "sallyport";
import { answers } from "./cases.js";

tool("answers", "", () => answers());
