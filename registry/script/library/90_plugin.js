// The plugin: its tools, resources and prompts, as the script registers them.

const tools = new Map(), resources = new Map(), templates = new Map(), prompts = new Map();
const about = { name: "script", version: "0.0.0" };
const wants = [];

function register(map, kind, key, entry) {
  if (typeof key !== "string" || key === "") throw new TypeError(`a ${kind} needs a name, a text that is not empty`);
  if (typeof entry.handler !== "function") throw new TypeError(`${kind} ${stringify(key)} has no function`);
  if (map.has(key)) throw new Error(`${kind} ${stringify(key)} is registered twice`);
  if (!host.importing()) throw new Error(`${kind} ${stringify(key)}: register it while the script is imported, not during a call`);
  map.set(key, entry);
}

// tool("name", "description", input, handler), tool("name", "description", handler), or tool({ name, …, handler }).
function tool(name, description, input, handler) {
  const given = isObject(name) ? name : typeof input === "function" ? { name, description, handler: input } : { name, description, input, handler };
  const where = `the input of tool ${stringify(given.name)}`;
  const { title, icons, task, hidden, asksFirst, _meta } = given;
  const definition = {
    name: given.name, title, description: given.description,
    inputSchema: given.inputSchema ?? schemaOf(given.input, where),
    outputSchema: given.outputSchema ?? (given.output === undefined ? undefined : schemaOf(given.output, `the output of tool ${stringify(given.name)}`)),
    annotations: annotationsOf(given), icons, _meta, hidden: hidden || undefined, asksFirst: asksFirst || undefined,
    execution: task ? { taskSupport: task === "only" ? "required" : "optional" } : undefined,
  };
  register(tools, "tool", given.name, { definition, input: given.input, fills: holdsDefault(definition.inputSchema), handler: given.handler });
}

function annotationsOf({ readOnly, destructive, idempotent, openWorld, annotations }) {
  const all = { ...annotations };
  if (readOnly !== undefined) all.readOnlyHint = readOnly;
  if (destructive !== undefined) all.destructiveHint = destructive;
  if (idempotent !== undefined) all.idempotentHint = idempotent;
  if (openWorld !== undefined) all.openWorldHint = openWorld;
  return Object.keys(all).length ? all : undefined;
}

// resource("file:///a", "name", "description", handler), with {variables} in the address a template; or one object.
function resource(uri, name, description, handler) {
  const given = isObject(uri) ? uri : { uri, name, description, handler };
  const { title, mimeType, size, annotations, icons, _meta } = given;
  const rest = { name: given.name, title, description: given.description, mimeType, size, annotations, icons, _meta };
  if (typeof given.uri === "string" && given.uri.includes("{")) {
    const entry = { definition: { uriTemplate: given.uri, ...rest }, ...matcherOf(given.uri), handler: given.handler, complete: given.complete ?? {} };
    return register(templates, "resource", given.uri, entry);
  }
  register(resources, "resource", given.uri, { definition: { uri: given.uri, ...rest }, handler: given.handler });
}

// matcherOf reads {name} as one segment and {+name} or {name*} as all that follows.
function matcherOf(template) {
  const names = [];
  const pattern = template.split(/(\{[^{}]*\})/).map((part) => {
    if (!part.startsWith("{")) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const m = /^\{(\+?)([A-Za-z0-9_.]+)(\*?)\}$/.exec(part);
    if (!m) throw new TypeError(`resource ${stringify(template)}: ${part} is not supported: write {name} or {+name}`);
    names.push(m[2]);
    return m[1] || m[3] ? "(.+)" : "([^/?#]+)";
  }).join("");
  return { names, pattern: new RegExp(`^${pattern}$`) };
}

// prompt("name", "description", { topic: "what it is about" }, handler), or one object.
function prompt(name, description, args, handler) {
  const given = isObject(name) ? name : typeof args === "function" ? { name, description, handler: args } : { name, description, arguments: args, handler };
  const list = Object.entries(given.arguments ?? {}).map(([key, v]) => {
    const { description: text, optional } = typeof v === "string" ? { description: v.replace(/^\?\s*/, ""), optional: v.startsWith("?") } : v;
    return { name: key, description: text || undefined, required: optional ? undefined : true };
  });
  const { title, icons, _meta } = given;
  register(prompts, "prompt", given.name, {
    definition: { name: given.name, title, description: given.description, arguments: list.length ? list : undefined, icons, _meta },
    handler: given.handler, complete: given.complete ?? {},
  });
}

function plugin(given) {
  Object.assign(about, given);
}

// want asks the operator for a grant: want("net", "GET https://api.example.com/**", "looks words up").
function want(family, grant, why) {
  wants.push({ [family]: grant, why });
}

const contentTypes = ["text", "image", "audio", "resource_link", "resource"];
const isContent = (v) => isObject(v) && contentTypes.includes(v.type);
const encodeData = (v) => (v instanceof ArrayBuffer || ArrayBuffer.isView(v) ? base64Of(bytesOf(v)) : v);

const text = (value) => ({ type: "text", text: String(value) });
const image = (data, mimeType = "image/png") => ({ type: "image", data: encodeData(data), mimeType });
const audio = (data, mimeType = "audio/wav") => ({ type: "audio", data: encodeData(data), mimeType });
const link = (uri, name = uri, rest = {}) => ({ type: "resource_link", uri, name, ...rest });
const embed = (contents) => ({ type: "resource", resource: contentsOf(contents, contents.uri) });

// resultOf returns the JSON of a result for the value that a tool returned, as a list of texts: a long one is not copied for
// what stands around it.
function resultOf(value) {
  if (value === undefined || value === null) return ['{"content":[]}'];
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`the result is a ${typeof value}, which has no JSON`);
  if (typeof value === "string") return ['{"content":[{"type":"text","text":', jsonOf(value), "}]}"];
  if (isContent(value)) return ['{"content":[', jsonOf(value), "]}"];
  if (Array.isArray(value) && value.length > 0 && value.every(isContent)) return ['{"content":', jsonOf(value), "}"];
  if (isObject(value) && Array.isArray(value.content)) return [jsonOf(value)];
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return resultOf(base64Of(bytesOf(value)));
  const json = jsonOf(value);
  if (json === undefined) throw new TypeError("the result has no JSON: its toJSON returns nothing");
  const [begin, text, end] = resultOf(json);
  return json.startsWith("{") ? [begin, text, '}],"structuredContent":', json, "}"] : [begin, text, end];
}

function contentsOf(value, uri, mimeType) {
  if (typeof value === "string") return { uri, mimeType, text: value };
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return { uri, mimeType, blob: base64Of(bytesOf(value)) };
  if (isObject(value) && (typeof value.text === "string" || value.blob !== undefined)) return { uri, mimeType, ...value, ...(value.blob === undefined ? {} : { blob: encodeData(value.blob) }) };
  return { uri, mimeType: mimeType ?? "application/json", text: jsonOf(value) };
}

function messagesOf(value) {
  if (isObject(value) && Array.isArray(value.messages)) return value;
  const list = Array.isArray(value) ? value : [value];
  return { messages: list.map((m) => (isObject(m) && m.role ? { role: m.role, content: typeof m.content === "string" ? text(m.content) : m.content } : { role: "user", content: isContent(m) ? m : text(m) })) };
}

let call = {};

// What a script asks of the host, of the client, or of the person.
const kv = {
  async get(key) {
    const { value } = await ask("kv/get", { key });
    return value ?? undefined;
  },
  entry: (key) => ask("kv/get", { key }),
  set: (key, value, options = {}) => ask("kv/set", { key, value, ...options }),
  delete: (key, options = {}) => ask("kv/delete", { key, ...options }),
  list: (options = {}) => ask("kv/list", typeof options === "string" ? { prefix: options } : options),
};
const secrets = {
  list: async () => (await ask("secrets/list")).secrets,
  get: async (name) => (await ask("secrets/get", { name })).value,
};

// elicit asks the person; it returns the answers, null if the person declined, or undefined if the person dismissed it.
async function elicit(message, input, options = {}) {
  const params = typeof message === "object" ? message : { message, requestedSchema: schemaOf(input, "the form of elicit") };
  if (params.requestedSchema) delete params.requestedSchema.additionalProperties;
  const answer = await ask("elicitation/create", params, options.key);
  if (answer.action === "decline") return null;
  return answer.action === "accept" ? answer.content ?? {} : undefined;
}

// sample asks the client's model; the result has the text of its answer as text.
async function sample(prompt, options = {}) {
  const { key, ...rest } = options;
  const messages = typeof prompt === "string" ? messagesOf(prompt).messages : prompt;
  const answer = await ask("sampling/createMessage", { messages, maxTokens: 1000, ...rest }, key);
  return { ...answer, text: textsOf(answer.content) };
}

const roots = async () => (await ask("roots/list")).roots;
const textsOf = (content) => [content].flat().filter((c) => c?.type === "text").map((c) => c.text).join("");

// callTool calls a tool of any plugin; one that failed throws its text, as an error with its result.
async function callTool(name, args = {}) {
  const result = await ask("tools/call", { name, arguments: args });
  if (result.isError) throw Object.assign(new ToolError(textsOf(result.content) || `the tool ${name} failed`), { result });
  return result;
}

const config = (key, fallback) => host.env(String(key)) ?? fallback;
const log = (level, data, logger) => tell("notifications/message", { level, logger, data });

function progress(done, total, message) {
  const progressToken = call.params?._meta?.progressToken;
  if (progressToken !== undefined) tell("notifications/progress", { progressToken, progress: done, total, message });
}

const changed = (list) => (change = {}) => tell(`notifications/${list}/list_changed`, Array.isArray(change) ? { visible: change } : change);
const resourceUpdated = (uri) => tell("notifications/resources/updated", { uri });
