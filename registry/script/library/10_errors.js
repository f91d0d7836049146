// Errors: their text for the caller, and the places of the script that its source map knows.

// The library keeps the built-in objects for itself: a script may replace the global ones.
const { Array, ArrayBuffer, BigInt, Boolean, DataView, Date, DOMException, Error, EvalError, JSON, Map, Math, Number, Object, Promise, RangeError, ReferenceError, RegExp, Set, String, Symbol, SyntaxError, TypeError, URIError, Uint8Array, WeakMap, WeakRef, WeakSet } = globalThis;

// HostError is the refusal of a request by the host.
class HostError extends Error {
  constructor(message, data = {}) {
    super(message);
    this.kind = data.kind;
    this.hint = data.hint;
    this.retryAfterMs = data.retryAfterMs;
    this.requiredCapabilities = data.requiredCapabilities;
  }
}
Object.defineProperty(HostError.prototype, "name", { value: "HostError" });

// ToolError is an answer of the script's author to the model: its text has no place.
class ToolError extends Error {}
Object.defineProperty(ToolError.prototype, "name", { value: "ToolError" });

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// numbersOf decodes one segment of a source map.
function numbersOf(segment) {
  const all = [];
  let value = 0, shift = 0;
  for (const c of segment) {
    const d = digits.indexOf(c);
    value += (d & 31) * 2 ** shift;
    if (d & 32) {
      shift += 5;
      continue;
    }
    all.push(value % 2 ? -Math.floor(value / 2) : value / 2);
    value = shift = 0;
  }
  return all;
}

// placeOf returns "hello.ts:3:7" for a place of the bundle; undefined for code that is not the script's.
function placeOf(line, column) {
  const map = JSON.parse(host.map() || "{}");
  let source = 0, at = 0, inLine = 0, found;
  (map.mappings || "").split(";").slice(0, line).forEach((text, i) => {
    let generated = 0;
    for (const segment of text.split(",")) {
      const n = segment ? numbersOf(segment) : [];
      if (n.length < 4) continue;
      generated += n[0], source += n[1], at += n[2], inLine += n[3];
      if (i < line - 1 || generated < column || found === undefined) found = [source, at, inLine];
    }
  });
  return found && `${map.sources[found[0]]}:${found[1] + 1}:${found[2] + 1}`;
}

// places returns the frames of a stack that lie in the script, innermost first.
function places(stack) {
  const all = [];
  for (const m of String(stack ?? "").matchAll(/^\s*at (?:(.*) \()?script:(\d+):(\d+)\)?$/gm)) {
    const place = placeOf(Number(m[2]), Number(m[3]));
    if (place) all.push({ name: m[1], place });
    if (all.length === 20) break;
  }
  return all;
}

// textOf never throws: what was thrown may be anything.
function textOf(e) {
  try {
    if (e === undefined || e === null) return `${e} was thrown${e === null ? ", as when the memory is exhausted" : ""}`;
    if (typeof e !== "object" && typeof e !== "function") return String(e);
    const message = String(e.message ?? "");
    if (e instanceof ToolError || e instanceof HostError || e.name === "Error") return message || "an error without a message";
    if (e instanceof Error || e.name && message) return message ? `${e.name}: ${message}` : String(e.name);
    return `an object that is no error was thrown: ${String(jsonOf(e))}`.slice(0, 500);
  } catch {
    return "an error that has no text was thrown";
  }
}

// stackOf returns the text of an error with all its places.
function stackOf(e) {
  let stack = "";
  try {
    stack = e.stack;
  } catch {}
  const frames = places(stack).map((f) => `    at ${f.name && f.name !== "<anonymous>" ? `${f.name} (${f.place})` : f.place}`);
  return [textOf(e), ...frames].join("\n");
}

// located adds the innermost place of the author's own files.
function located(e) {
  const text = textOf(e);
  if (e instanceof ToolError || e instanceof HostError) return text;
  let stack;
  try {
    stack = e?.stack;
  } catch {}
  const all = places(stack);
  const own = all.find((f) => !f.place.includes("node_modules/")) ?? all[0];
  const missing = /^ReferenceError: (\w+) is not defined$/.exec(text)?.[1];
  const hint = missing && Object.hasOwn(library, missing) ? `: import { ${missing} } from "sallyport"` : "";
  return (own ? `${text} (${own.place})` : text) + hint;
}
