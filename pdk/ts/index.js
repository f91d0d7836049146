// The host has its own module of this name. This one is for editors, and for tests with a library of their own.
const library = globalThis[Symbol.for("sallyport")];
if (!library) throw new Error("this script runs in Sallyport: sallyport call SCRIPT TOOL");
export const {
  tool, resource, prompt, plugin, want, text, image, audio, link, embed, kv, secrets, elicit, sample, roots, callTool, config, log, progress, ask,
  toolsChanged, resourcesChanged, promptsChanged, resourceUpdated, release, ToolError, HostError,
} = library;
