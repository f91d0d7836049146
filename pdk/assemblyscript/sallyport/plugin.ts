/** The plugin: its entries, and the way of a request. */

import { Kind, Role, Value } from "./json";
import { Field, constant, fillAll, schemaOf } from "./field";
import { contents, text, user } from "./content";
import { Call } from "./call";
import * as host from "./host";

/** Serves a call, and returns its result; null answers with the last refusal, fail or error. */
export type Handler = (c: Call) => Value | null;

/**
 * Suggests values for a text that is typed. The arguments of the call are "value", the text, "argument", the name of the
 * argument or variable, "of", the name of the prompt or the URI of the template, and "arguments", those already set.
 */
export type Suggest = (c: Call) => string[];

/** The texts that begin with the text that was typed. */
export function fitting(all: string[], c: Call): string[] {
  const fit: string[] = [], typed = c.str("value");
  for (let i = 0; i < all.length; i++) if (all[i].startsWith(typed)) fit.push(all[i]);
  return fit;
}

/** A tool. Its result is text, blocks, an array of these, a whole result with a member content, or an object as structured content. */
export class Tool {
  output: Field[] | null = null;
  constructor(public entry: Value, public input: Field[], public call: Handler) {}

  /** The members of its structured content. */
  returns(fields: Field[]): Tool {
    this.output = fields;
    return this;
  }
  /** Adds a member to the entry, such as also("title", '"Hello"'). */
  also(key: string, json: string): Tool {
    this.entry.set(key, constant(json));
    return this;
  }
  readOnly(): Tool { return this.hint("readOnlyHint", true); }
  destructive(is: bool): Tool { return this.hint("destructiveHint", is); }
  idempotent(): Tool { return this.hint("idempotentHint", true); }
  openWorld(is: bool): Tool { return this.hint("openWorldHint", is); }

  private hint(key: string, is: bool): Tool {
    const hints = this.entry.find("annotations");
    this.entry.set("annotations", (hints === null ? Value.object() : hints).set(key, Value.bool(is)));
    return this;
  }

  describe(): Value {
    const output = this.output;
    return this.entry.set("inputSchema", schemaOf(this.input, true)).set("outputSchema", output === null ? null : schemaOf(output, false));
  }
}

/** A resource, or a template if its URI has variables: {name} is one segment of the path, {+name} all the rest. */
export class Resource {
  suggested: string[] = [];
  suggests: Suggest[] = [];
  constructor(public uri: string, public entry: Value, public read: Handler) {}

  mimeType(type: string): Resource {
    this.entry.set("mimeType", Value.str(type));
    return this;
  }
  also(key: string, json: string): Resource {
    this.entry.set(key, constant(json));
    return this;
  }
  /** Completes a variable of the template. */
  complete(variable: string, f: Suggest): Resource {
    this.suggested.push(variable);
    this.suggests.push(f);
    return this;
  }
  isTemplate(): bool { return this.uri.includes("{"); }
}

/** A prompt. Its result is text, or an array of messages of user and assistant. */
export class Prompt {
  suggested: string[] = [];
  suggests: Suggest[] = [];
  constructor(public entry: Value, public fields: Field[], public get: Handler) {}

  also(key: string, json: string): Prompt {
    this.entry.set(key, constant(json));
    return this;
  }
  /** Completes an argument. */
  complete(argument: string, f: Suggest): Prompt {
    this.suggested.push(argument);
    this.suggests.push(f);
    return this;
  }

  describe(): Value {
    if (!this.fields.length) return this.entry;
    const all = Value.array();
    for (let i = 0; i < this.fields.length; i++) {
      const f = this.fields[i];
      all.add(named(f.name, f.doc).set("required", f.isRequired() ? Value.bool(true) : null));
    }
    return this.entry.set("arguments", all);
  }
}

const about = Value.object();
const tools: Tool[] = [];
const resources: Resource[] = [];
const prompts: Prompt[] = [];
const wants = Value.array();

function named(name: string, description: string): Value {
  return Value.object().set("name", Value.str(name)).set("description", description.length ? Value.str(description) : null);
}

/** Names the plugin. */
export function plugin(name: string, version: string, description: string = ""): void {
  about.set("name", Value.str(name)).set("version", Value.str(version)).set("description", description.length ? Value.str(description) : null);
}

export function tool(name: string, description: string, input: Field[], call: Handler): Tool {
  const t = new Tool(named(name, description), input, call);
  tools.push(t);
  return t;
}

export function resource(uri: string, name: string, description: string, read: Handler): Resource {
  const r = new Resource(uri, named(name, description), read);
  r.entry.set(r.isTemplate() ? "uriTemplate" : "uri", Value.str(uri));
  resources.push(r);
  return r;
}

export function prompt(name: string, description: string, fields: Field[], get: Handler): Prompt {
  const p = new Prompt(named(name, description), fields, get);
  prompts.push(p);
  return p;
}

/** Asks the operator for a grant: want("net", '"GET https://api.example.com/**"', "looks words up"). */
export function want(family: string, grant: string, why: string): void {
  wants.add(Value.object().set(family, constant(grant)).set("why", Value.str(why)));
}

function describe(): Value {
  const allTools = Value.array(), plain = Value.array(), templates = Value.array(), allPrompts = Value.array();
  for (let i = 0; i < tools.length; i++) allTools.add(tools[i].describe());
  for (let i = 0; i < resources.length; i++) (resources[i].isTemplate() ? templates : plain).add(resources[i].entry);
  for (let i = 0; i < prompts.length; i++) allPrompts.add(prompts[i].describe());
  return about.set("tools", allTools).set("resources", plain).set("resourceTemplates", templates).set("prompts", allPrompts).set("wants", wants);
}

function failed(message: string): Value {
  return Value.object().set("content", Value.array([text(message)])).set("isError", Value.bool(true));
}

/** A handler's value as a result of tools/call. */
function resultOf(v: Value): Value {
  if (v.kind == Kind.Object && v.has("content") && v.role == Role.None) return v;
  if (v.role == Role.Block) return Value.object().set("content", Value.array([v]));
  if (v.kind == Kind.Array && (!v.items.length || v.items[0].role == Role.Block)) return Value.object().set("content", v);
  const block = text(v.kind == Kind.String ? v.text : v.toString());
  return Value.object().set("content", Value.array([block])).set("structuredContent", v.kind == Kind.Object ? v : null);
}

function callTool(c: Call): Value | null {
  const name = c.params.str("name");
  for (let i = 0; i < tools.length; i++) {
    if (tools[i].entry.str("name") != name) continue;
    fillAll(c.args, tools[i].input);
    const call = tools[i].call;
    const v = call(c);
    if (v !== null) return resultOf(v);
    if (c.code) return null;
    const message = c.message;
    return failed(message === null ? "the tool failed" : message);
  }
  return c.error(-32602, "unknown tool: " + name);
}

function readResource(c: Call): Value | null {
  const uri = c.params.str("uri");
  for (let i = 0; i < resources.length; i++) if (resources[i].uri == uri && !resources[i].isTemplate()) return contentsOf(c, resources[i], uri);
  for (let i = 0; i < resources.length; i++) {
    if (!resources[i].isTemplate()) continue;
    const vars = fit(resources[i].uri, uri);
    if (vars === null) continue;
    c.args = vars;
    return contentsOf(c, resources[i], uri);
  }
  return c.notFound();
}

function contentsOf(c: Call, r: Resource, uri: string): Value | null {
  const read = r.read;
  let v = read(c);
  if (v === null) return c.message === null ? c.notFound() : null;
  if (v.role == Role.Block) v = contents(v.str("text"));
  if (v.role != Role.Contents && !(v.kind == Kind.Array && v.items.length && v.items[0].role == Role.Contents)) v = contents(v.kind == Kind.String ? v.text : v.toString());
  const all = v.kind == Kind.Array ? v : Value.array([v]);
  for (let i = 0; i < all.items.length; i++) {
    const one = all.items[i];
    if (!one.has("uri")) one.set("uri", Value.str(uri));
    if (!one.has("mimeType")) one.set("mimeType", r.entry.find("mimeType"));
  }
  return Value.object().set("contents", all);
}

function findPrompt(name: string): Prompt | null {
  for (let i = 0; i < prompts.length; i++) if (prompts[i].entry.str("name") == name) return prompts[i];
  return null;
}

function getPrompt(c: Call): Value | null {
  const p = findPrompt(c.params.str("name"));
  if (p === null) return c.error(-32602, "unknown prompt: " + c.params.str("name"));
  for (let i = 0; i < p.fields.length; i++) {
    if (p.fields[i].isRequired() && !c.has(p.fields[i].name)) return c.error(-32602, "argument " + p.fields[i].name + " is missing");
  }
  fillAll(c.args, p.fields);
  const get = p.get;
  let v = get(c);
  if (v === null) return c.message === null ? c.error(-32603, "the prompt failed") : null;
  if (v.kind == Kind.String) v = text(v.text);
  if (v.role == Role.Block) v = user(v);
  return Value.object().set("messages", v.kind == Kind.Array ? v : Value.array([v]));
}

function complete(c: Call): Value | null {
  const ref = c.params.get("ref"), argument = c.params.get("argument");
  let suggested: string[] = [], suggests: Suggest[] = [];
  const p = findPrompt(ref.str("name"));
  if (p !== null) {
    suggested = p.suggested;
    suggests = p.suggests;
  }
  for (let i = 0; i < resources.length; i++) {
    if (!ref.has("uri") || resources[i].uri != ref.str("uri")) continue;
    suggested = resources[i].suggested;
    suggests = resources[i].suggests;
  }
  const at = suggested.indexOf(argument.str("name"));
  c.args = Value.object().set("argument", argument.get("name")).set("value", argument.get("value")).set("of", ref.get(p === null ? "uri" : "name"))
    .set("arguments", c.params.get("context").get("arguments"));
  let values: string[] = [];
  if (at >= 0) {
    const suggest = suggests[at];
    values = suggest(c);
  }
  const more = values.length > 100;
  return Value.object().set("completion", Value.object().set("values", Value.strings(values.slice(0, 100)))
    .set("total", Value.int(values.length)).set("hasMore", more ? Value.bool(true) : null));
}

/** The variables of a template in a URI, or null if it does not fit. */
function fit(template: string, uri: string): Value | null {
  const vars = Value.object();
  let t = 0, u = 0;
  while (t < template.length) {
    const c = template.charCodeAt(t);
    if (c != 0x7b) {
      if (u >= uri.length || uri.charCodeAt(u) != c) return null;
      t++;
      u++;
      continue;
    }
    const end = template.indexOf("}", t);
    if (end < 0) return null;
    const all = template.charCodeAt(t + 1) == 0x2b;
    const name = template.substring(t + (all ? 2 : 1), end);
    t = end + 1;
    const stop = t < template.length ? template.charCodeAt(t) : -1, from = u;
    while (u < uri.length && uri.charCodeAt(u) != stop) {
      const d = uri.charCodeAt(u);
      if (!all && (d == 0x2f || d == 0x3f || d == 0x23)) break;
      u++;
    }
    if (u == from) return null;
    vars.set(name, Value.str(unescape(uri.substring(from, u))));
  }
  return u == uri.length ? vars : null;
}

function hexDigit(c: i32): i32 {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  c |= 32;
  return c >= 0x61 && c <= 0x66 ? c - 0x61 + 10 : -1;
}

/** Decodes %XX. */
function unescape(s: string): string {
  const from = Uint8Array.wrap(host.encode(s));
  const to = new Uint8Array(from.length);
  let n = 0;
  for (let i = 0; i < from.length; i++) {
    let c = from[i];
    if (c == 0x25 && i + 2 < from.length) {
      const high = hexDigit(from[i + 1]), low = hexDigit(from[i + 2]);
      if (high >= 0 && low >= 0) {
        c = <u8>(high * 16 + low);
        i += 2;
      }
    }
    to[n++] = c;
  }
  return host.decode(to.subarray(0, n));
}

function respond(c: Call, method: string): Value | null {
  if (method == "plugin/describe") return describe();
  if (method == "tools/call") return callTool(c);
  if (method == "resources/read") return readResource(c);
  if (method == "prompts/get") return getPrompt(c);
  if (method == "completion/complete") return complete(c);
  return c.error(-32601, "method not found: " + method);
}

function errorOf(c: Call): Value {
  const message = c.message;
  return Value.object().set("code", Value.int(c.code ? c.code : -32603)).set("message", Value.str(message === null ? "failed" : message)).set("data", c.data);
}

/** Serves one request of the host. The memory of the request before is free again. */
export function mcp_handle(size: i32): i32 {
  __collect();
  const request = Value.parse(host.decode(host.readAll(0)));
  const params = request === null ? Value.none() : request.get("params");
  const args = params.find("arguments");
  const c = new Call(params, args === null ? Value.object() : args);
  const result = request === null ? c.error(-32602, "the request is not JSON") : respond(c, request.str("method"));
  const answer = result === null ? Value.object().set("error", errorOf(c)) : Value.object().set("result", result);
  const text = host.encode(answer.toString());
  return host.writeAll(1, changetype<usize>(text), text.byteLength) ? 0 : 29;
}
