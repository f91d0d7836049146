// The tool echo of the comparison of languages. tools.wasm is built of it, beside a copy of pdk/assemblyscript, by make tools-guest.
import { plugin, str, text, tool } from "../sallyport";

plugin("tools", "1");
tool("echo", "answers with its text", [str("text")], (c) => text(c.str("text")));
