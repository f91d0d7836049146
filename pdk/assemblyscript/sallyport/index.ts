/**
 * Sallyport plugins in AssemblyScript:
 *
 *     import { plugin, str, text, tool } from "./sallyport";
 *
 *     plugin("hello", "1.0.0");
 *     tool("greet", "Greets someone.", [str("name", "who to greet")], (c) => text(`Hello, ${c.str("name")}!`));
 *
 * asc takes sallyport/entry.ts as a second entry file, which exports the module's function.
 */

export { Kind, Value } from "./json";
export { Field, any, flag, int, num, obj, str } from "./field";
export { assistant, audio, blob, bytes, contents, embed, image, link, text, user } from "./content";
export { Call, Entry, Request, Response, config, texts } from "./call";
export { Handler, Prompt, Resource, Suggest, Tool, fitting, plugin, prompt, resource, tool, want } from "./plugin";
export { random } from "./host";
