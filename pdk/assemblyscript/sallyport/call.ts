/** A call: its arguments, and its requests to the host, which each need a grant. */

import { Kind, Value } from "./json";
import { Field, schemaOf } from "./field";
import { text, user } from "./content";
import * as host from "./host";

const streamKey = "dev.sallyport/stream";

/** A response of any status. */
export class Response {
  constructor(public status: i32, public url: string, public headers: Value, public body: Uint8Array) {}
  text(): string { return host.decode(this.body); }
}

/** A request to the web. */
export class Request {
  headers: Value = Value.object();
  content: Uint8Array | null = null;
  constructor(public method: string, public url: string) {}
  header(name: string, value: string): Request {
    this.headers.set(name, Value.str(value));
    return this;
  }
  body(s: string): Request { return this.bytes(Uint8Array.wrap(host.encode(s))); }
  bytes(data: Uint8Array): Request {
    this.content = data;
    return this;
  }
}

/** A stored value, and its version: 0 if the key is absent. */
export class Entry {
  constructor(public value: Value, public version: i64) {}
}

/**
 * A call. A function of the host that was refused returns null (or false), and a handler that returns null answers with the
 * refusal, which names the line that would allow it.
 */
export class Call {
  /** Why the call fails; null if it does not. */
  message: string | null = null;
  /** The code of an MCP error; 0 is a result with isError. */
  code: i32 = 0;
  data: Value | null = null;
  /** The kind of the last refusal: denied, invalid, unsupported, unavailable, timeout, limit or conflict; else "". */
  refused: string = "";
  /** The line that would allow the last refused request. */
  hint: string = "";
  /** The person said no to the last form. */
  declined: bool = false;

  constructor(public params: Value, public args: Value) {}

  // An argument, or a variable of a template.
  get(key: string): Value { return this.args.get(key); }
  has(key: string): bool { return this.args.has(key); }
  str(key: string): string { return this.args.str(key); }
  int(key: string): i64 { return this.args.int(key); }
  num(key: string): f64 { return this.args.num(key); }
  flag(key: string): bool { return this.args.flag(key); }
  list(key: string): Value[] { return this.args.list(key); }

  /** Makes the call fail with a message to the model: return c.fail("sold out"). */
  fail(message: string): Value | null { return this.error(0, message); }
  /** Makes the call an MCP error: the request itself is wrong. */
  error(code: i32, message: string, data: Value | null = null): Value | null {
    this.message = message;
    this.code = code;
    this.data = data;
    return null;
  }
  /** The error of a resource that does not exist. */
  notFound(): Value | null { return this.error(-32602, "resource not found", Value.object().set("uri", this.params.get("uri"))); }

  /** Makes any request of the host; null is a refusal. */
  ask(method: string, params: Value | null): Value | null {
    this.refused = this.hint = "";
    const n = host.ask(Value.object().set("method", Value.str(method)).set("params", params));
    if (n == -11) return this.refuse("timeout", "the call was cancelled");
    if (n < 0) return this.refuse("unavailable", "host error number " + (-n).toString());
    const stream = <i32>(n >> 32);
    const answer = Value.parse(host.decode(host.readAll(stream)));
    host.close(stream);
    if (answer === null) return this.refuse("invalid", "the answer of the host is not JSON");
    const error = answer.find("error");
    return error === null ? answer.get("result") : this.refuseBy(error);
  }

  private refuse(kind: string, message: string): Value | null {
    this.refused = kind;
    return this.fail(message);
  }

  private refuseBy(error: Value): Value | null {
    const data = error.get("data");
    this.refuse(data.has("kind") ? data.str("kind") : "unavailable", error.str("message"));
    this.hint = data.str("hint");
    const required = data.find("requiredCapabilities");
    if (required === null) return null;
    return this.error(-32603, error.str("message"), Value.object().set("kind", Value.str(this.refused)).set("requiredCapabilities", required));
  }

  /** Asks the person to fill in a form. Null without refused: the person declined it, which declined tells, or dismissed it. */
  elicit(message: string, form: Field[]): Value | null {
    const answer = this.ask("elicitation/create", Value.object().set("mode", Value.str("form")).set("message", Value.str(message)).set("requestedSchema", schemaOf(form, false)));
    this.declined = answer !== null && answer.str("action") == "decline";
    return answer !== null && answer.str("action") == "accept" ? answer.get("content") : null;
  }

  /** Asks the client's model; texts returns the text of the answer. */
  sample(prompt: string, maxTokens: i32): Value | null {
    return this.ask("sampling/createMessage", Value.object().set("messages", Value.array([user(text(prompt))])).set("maxTokens", Value.int(maxTokens)));
  }

  /** The client's roots, each with uri and name. */
  roots(): Value[] | null {
    const answer = this.ask("roots/list", null);
    return answer === null ? null : answer.list("roots");
  }

  /** Calls a tool of any plugin by its public name, and returns its whole result. A tool that failed is null. */
  callTool(name: string, args: Value): Value | null {
    const result = this.ask("tools/call", Value.object().set("name", Value.str(name)).set("arguments", args));
    return result !== null && result.flag("isError") ? this.fail(texts(result)) : result;
  }

  /** A stored value, which is the JSON null if the key is absent. */
  kvGet(key: string): Entry | null {
    const answer = this.ask("kv/get", named(key));
    return answer === null ? null : new Entry(answer.get("value"), answer.int("version"));
  }
  /** Stores a value, which is committed when the call succeeds. */
  kvSet(key: string, value: Value): bool { return this.ask("kv/set", named(key).set("value", value)) !== null; }
  /** Stores a value if the key still has a version, else the refusal is a conflict. */
  kvSetIf(key: string, value: Value, version: i64): bool {
    return this.ask("kv/set", named(key).set("value", value).set("ifVersion", Value.int(version))) !== null;
  }
  /** Removes a key; one that is absent is no error. */
  kvDelete(key: string): bool { return this.ask("kv/delete", named(key)) !== null; }
  /** The keys with a prefix. */
  kvList(prefix: string): string[] | null {
    const keys: string[] = [];
    while (true) {
      const answer = this.ask("kv/list", Value.object().set("prefix", Value.str(prefix)).set("after", keys.length ? Value.str(keys[keys.length - 1]) : null));
      if (answer === null) return null;
      const all = answer.list("keys");
      for (let i = 0; i < all.length; i++) keys.push(all[i].str("key"));
      if (!answer.flag("more")) return keys;
    }
  }

  /** Gets a page. A status such as 404 is no refusal. */
  fetch(url: string): Response | null { return this.send(new Request("GET", url)); }

  send(r: Request): Response | null {
    const params = Value.object().set("method", Value.str(r.method)).set("url", Value.str(r.url)).set("headers", r.headers);
    const content = r.content;
    if (content !== null) {
      const stream = this.ask("stream/open", Value.object());
      if (stream === null) return null;
      if (!host.writeAll(<i32>stream.int(streamKey), content.dataStart, content.length)) {
        this.refuse("limit", "the body is over the host's limit");
        return null;
      }
      params.set("body", stream);
    }
    const answer = this.ask("http/fetch", params);
    return answer === null ? null : new Response(<i32>answer.int("status"), answer.str("url"), answer.get("headers"), bodyOf(answer.get("body")));
  }

  /** Reports progress: done of total, of which 0 is unknown. */
  progress(done: f64, total: f64 = 0, message: string = ""): void {
    const token = this.params.get("_meta").find("progressToken");
    if (token === null) return;
    this.notify("notifications/progress", Value.object().set("progressToken", token).set("progress", Value.num(done))
      .set("total", total ? Value.num(total) : null).set("message", message.length ? Value.str(message) : null));
  }

  /** Sends a log message; level is debug, info, notice, warning or error. */
  log(level: string, data: Value): void { this.notify("notifications/message", Value.object().set("level", Value.str(level)).set("data", data)); }

  /** Adds hidden entries to the caller's list of "tools", "resources" or "prompts", by name or URI. */
  show(list: string, names: string[]): void { this.change(list, "show", names); }
  /** Removes entries from the caller's list of "tools", "resources" or "prompts", by name or URI. */
  hide(list: string, names: string[]): void { this.change(list, "hide", names); }

  private change(list: string, verb: string, names: string[]): void {
    this.notify("notifications/" + list + "/list_changed", Value.object().set(verb, Value.strings(names)));
  }

  /** Tells subscribers that the content of a resource has changed. */
  resourceUpdated(uri: string): void { this.notify("notifications/resources/updated", Value.object().set("uri", Value.str(uri))); }

  /** Lets the client's connection end while the call goes on, if the client can fetch the result later. */
  release(): void { this.notify("client/release", Value.object()); }

  /** Sends a notification, without a failure if the host does not take it. */
  private notify(method: string, params: Value): void {
    const message = this.message, code = this.code, data = this.data, refused = this.refused, hint = this.hint;
    this.ask(method, params);
    this.message = message;
    this.code = code;
    this.data = data;
    this.refused = refused;
    this.hint = hint;
  }
}

function named(key: string): Value { return Value.object().set("key", Value.str(key)); }

function bodyOf(body: Value): Uint8Array {
  if (body.kind != Kind.Object) return Uint8Array.wrap(host.encode(body.asStr()));
  const stream = <i32>body.int(streamKey);
  const all = host.readAll(stream);
  host.close(stream);
  return all;
}

/** Joins the texts of a result's blocks. */
export function texts(result: Value): string {
  const content = result.get("content");
  let all = content.str("text");
  if (content.kind == Kind.Array) for (let i = 0; i < content.items.length; i++) all += content.items[i].str("text");
  return all;
}

/** A value of the operator's config grants, or the fallback. */
export function config(key: string, fallback: string = ""): string {
  const v = host.environment(key);
  return v === null ? fallback : v;
}
