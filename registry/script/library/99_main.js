// The way of a request: begin, then step until it ends, then take the response.

class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

function describePlugin() {
  const all = (map) => [...map.values()].map((e) => e.definition);
  if (tools.size + resources.size + templates.size + prompts.size === 0) {
    throw new Refusal(-32603, 'the script registers nothing: import { tool } from "sallyport" and call tool(…); a file that others import belongs into a folder below');
  }
  return { ...about, tools: all(tools), resources: all(resources), resourceTemplates: all(templates), prompts: all(prompts), wants };
}

// contextOf is the call of a handler: in a completion, with the names of what is completed.
const contextOf = ({ ref, name = ref?.name, uri = ref?.uri, argument, _meta }) => ({ name, uri, argument: argument?.name, meta: _meta ?? {} });

async function callTheTool(params) {
  const t = tools.get(params.name);
  if (!t) return refuse(new Refusal(-32602, `unknown tool: ${params.name}`));
  try {
    const given = params.arguments ?? {};
    const args = isStandard(t.input) ? await validated(t.input, given) : t.fills ? fill(t.definition.inputSchema, given) : given;
    return respond(...resultOf(await t.handler(args, contextOf(params))));
  } catch (e) {
    if (e instanceof HostError && e.requiredCapabilities) return refuse(e);
    if (!(e instanceof ToolError || e instanceof HostError)) host.log(`${stackOf(e)}\n`);
    return respond(jsonOf({ isError: true, content: [text(located(e))] }));
  }
}

async function readTheResource(params) {
  const uri = params.uri;
  let r = resources.get(uri), args = {};
  for (const t of r ? [] : templates.values()) {
    const m = t.pattern.exec(uri);
    if (m) {
      args = Object.fromEntries(t.names.map((n, i) => [n, unescapeURL(m[i + 1])]));
      r = t;
      break;
    }
  }
  if (!r) throw new Refusal(-32602, "resource not found", { uri });
  const value = await r.handler(args, contextOf(params));
  if (value === undefined || value === null) throw new Refusal(-32602, "resource not found", { uri });
  if (isObject(value) && Array.isArray(value.contents)) return value;
  return { contents: [value].flat().map((v) => contentsOf(v, uri, r.definition.mimeType)) };
}

async function getThePrompt(params) {
  const p = prompts.get(params.name);
  if (!p) throw new Refusal(-32602, `unknown prompt: ${params.name}`);
  const args = params.arguments ?? {};
  for (const a of p.definition.arguments ?? []) {
    if (a.required && args[a.name] === undefined) throw new Refusal(-32602, `argument ${a.name} is missing`);
  }
  return messagesOf(await p.handler(args, contextOf(params)));
}

async function completeIt(params) {
  const { ref = {}, argument = {}, context } = params;
  const entry = ref.type === "ref/prompt" ? prompts.get(ref.name) : templates.get(ref.uri) ?? resources.get(ref.uri);
  if (!entry) throw new Refusal(-32602, `unknown ref: ${ref.name ?? ref.uri}`);
  const complete = entry.complete?.[argument.name];
  const all = Array.isArray(complete) ? complete.filter((v) => v.startsWith(argument.value)) : complete ? await complete(argument.value, context?.arguments ?? {}, contextOf(params)) : [];
  return { completion: { values: all.slice(0, 100), total: all.length, ...(all.length > 100 ? { hasMore: true } : {}) } };
}

const methods = {
  "plugin/describe": describePlugin, "resources/read": readTheResource, "prompts/get": getThePrompt, "completion/complete": completeIt,
};

const refusalOf = (e) => {
  if (e instanceof Refusal) return { code: e.code, message: e.message, data: e.data };
  if (e instanceof HostError && e.requiredCapabilities) return { code: -32603, message: e.message, data: { kind: e.kind, requiredCapabilities: e.requiredCapabilities } };
  host.log(`${stackOf(e)}\n`);
  return { code: -32603, message: located(e) };
};

// The response is a list of texts, which the engine writes one after the other.
let response, rejections = [];

function respond(...json) {
  response = ['{"result":', ...json, "}"];
}

function refuse(e) {
  response = ['{"error":', jsonOf(refusalOf(e)), "}"];
}

async function answer(method, params) {
  try {
    respond(jsonOf(await method(params)));
  } catch (e) {
    refuse(e);
  }
}

function begin(request) {
  response = undefined;
  timers = [];
  waiting = [];
  rejections = [];
  origin = Date.now();
  call = request;
  const params = call.params ?? {};
  if (call.method === "tools/call") callTheTool(params);
  else if (Object.hasOwn(methods, call.method)) answer(methods[call.method], params);
  else refuse(new Refusal(-32601, `method not found: ${call.method}`));
}

// step lets the script continue: with answers of the host, else with the next timer. It returns false at the end, after
// requests that nobody waits for.
function step() {
  if (flush()) return true;
  if (response !== undefined) return false;
  if (elapse()) return true;
  if (!host.importing()) respond(jsonOf({ isError: true, content: [text("the tool waits for a promise that nothing is left to settle")] }));
  return false;
}

function take() {
  for (const r of rejections) if (!r.handled) host.log(`an unhandled rejection: ${stackOf(r.reason)}\n`);
  rejections = [];
  const given = response;
  response = undefined;
  call = {};
  return given;
}

function reject(promise, reason, handled) {
  if (!handled) rejections.push({ promise, reason, handled });
  else for (const r of rejections) if (r.promise === promise) r.handled = true;
}

// describe returns the response of a script that failed while it was imported.
function describe(e) {
  let message;
  if (e === undefined) message = "the script waits at its top level for a promise that nothing is left to settle";
  else if (e?.name === "InternalError" && e?.message === "interrupted") message = `the script still runs after 40,000,000 steps of its import: is there a loop without end?${placeText(e)}`;
  else message = located(e);
  return jsonOf({ error: { code: -32603, message } });
}

const placeText = (e) => {
  const [first] = places(e.stack);
  return first ? ` (${first.place})` : "";
};

Math.random = host.mathRandom;
Object.defineProperty(Math, "random", { enumerable: false });

const globals = {
  console, setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate: clearTimeout,
  Event, EventTarget, AbortController, AbortSignal, performance, TextEncoder, TextDecoder, atob, btoa, URL, URLSearchParams,
  structuredClone, crypto, fetch, Headers, Request, Response, self: globalThis, global: globalThis,
};
for (const key of Object.keys(globals)) Object.defineProperty(globalThis, key, { value: globals[key], writable: true, configurable: true, enumerable: false });
const library = {
  tool, resource, prompt, plugin, want, text, image, audio, link, embed, kv, secrets, elicit, sample, roots, callTool, config, log, progress, ask,
  toolsChanged: changed("tools"), resourcesChanged: changed("resources"), promptsChanged: changed("prompts"), resourceUpdated,
  release: () => tell("client/release"), ToolError, HostError,
};
Object.defineProperty(globalThis, Symbol.for("sallyport"), { value: library });

return { begin, step, take, describe, reject };
