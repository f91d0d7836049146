import { plugin, str, text, tool } from "../sallyport";

plugin("hello", "1.0.0");
tool("hello", "Greets someone.", [str("name", "who to greet")], (c) => text(`Hello, ${c.str("name")}!`));
