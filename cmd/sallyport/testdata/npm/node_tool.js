// The module sallyport of a bundle for Node.
export const tool = (name, _, run) => (globalThis[name] = run);
