// fetch, Headers, Request and Response, through the host's http/fetch.

const tokenChars = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

class Headers {
  #map = new Map();
  constructor(init) {
    if (init instanceof Headers || typeof init?.[Symbol.iterator] === "function") for (const [k, v] of init) this.append(k, v);
    else for (const k of Object.keys(init ?? {})) this.append(k, init[k]);
  }
  #key(name) {
    if (!tokenChars.test(String(name))) throw new TypeError(`Headers: ${stringify(String(name))} is an invalid header name`);
    return String(name).toLowerCase();
  }
  #value(value) {
    const v = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[\0\n\r]/.test(v)) throw new TypeError("Headers: the value has a line end");
    return v;
  }
  append(name, value) {
    const key = this.#key(name), all = this.#map.get(key) ?? [];
    all.push(this.#value(value));
    this.#map.set(key, all);
  }
  set(name, value) {
    this.#map.set(this.#key(name), [this.#value(value)]);
  }
  get(name) {
    return this.#map.get(this.#key(name))?.join(", ") ?? null;
  }
  getSetCookie() {
    return [...(this.#map.get("set-cookie") ?? [])];
  }
  has(name) {
    return this.#map.has(this.#key(name));
  }
  delete(name) {
    this.#map.delete(this.#key(name));
  }
  forEach(f, self) {
    for (const [k, v] of this) f.call(self, v, k, this);
  }
  *entries() {
    for (const k of [...this.#map.keys()].sort()) {
      if (k === "set-cookie") for (const v of this.#map.get(k)) yield [k, v];
      else yield [k, this.#map.get(k).join(", ")];
    }
  }
  *keys() {
    for (const [k] of this.entries()) yield k;
  }
  *values() {
    for (const [, v] of this.entries()) yield v;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}

// Body is the content of a request or a response, which is read once.
class Body {
  #bytes;
  #load;
  bodyUsed = false;
  constructor(load) {
    this.#load = load;
  }
  async bytes() {
    if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
    this.bodyUsed = true;
    return (this.#bytes ??= this.#load());
  }
  async arrayBuffer() {
    const b = await this.bytes();
    return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength);
  }
  async text() {
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return parse(await this.text());
  }
  clone() {
    if (this.bodyUsed) throw new TypeError("Response.clone: Body has already been consumed.");
    this.#bytes ??= this.#load();
    const bytes = this.#bytes;
    return this.withBody(() => bytes);
  }
}

// contentOf returns the bytes and the media type of a body; undefined for none.
function contentOf(body) {
  if (body === undefined || body === null) return {};
  if (body instanceof URLSearchParams) return { bytes: new Uint8Array(host.encode(String(body))), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return { bytes: bytesOf(body) };
  return { text: String(body), type: "text/plain;charset=UTF-8" };
}

class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const content = init.body !== undefined ? contentOf(init.body) : from?.content ?? {};
    super(() => content.bytes ?? new Uint8Array(host.encode(content.text ?? "")));
    const u = URL.parse(from ? from.url : String(input));
    if (!u) throw new TypeError(`Failed to parse URL from ${String(input)}`);
    this.url = u.href;
    this.method = String(init.method ?? from?.method ?? "GET");
    if (/^(get|head|post|put|delete|options)$/i.test(this.method)) this.method = this.method.toUpperCase();
    if ((this.method === "GET" || this.method === "HEAD") && (content.bytes || content.text !== undefined)) {
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    }
    this.headers = new Headers(init.headers ?? from?.headers);
    if (content.type && !this.headers.has("content-type")) this.headers.set("content-type", content.type);
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
    Object.defineProperty(this, "content", { value: content });
  }
  withBody() {
    return new Request(this);
  }
}

class Response extends Body {
  constructor(body, init = {}) {
    const content = contentOf(body);
    super(init.load ?? (() => content.bytes ?? new Uint8Array(host.encode(content.text ?? ""))));
    this.status = init.status ?? 200;
    if (!(this.status >= 200 && this.status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    this.statusText = init.statusText ?? "";
    this.ok = this.status >= 200 && this.status <= 299;
    this.headers = new Headers(init.headers);
    if (content.type && !this.headers.has("content-type")) this.headers.set("content-type", content.type);
    this.url = init.url ?? "";
    this.redirected = init.redirected ?? false;
    this.type = "default";
  }
  withBody(load) {
    return new Response(null, { load, status: this.status, statusText: this.statusText, headers: this.headers, url: this.url, redirected: this.redirected });
  }
  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(jsonOf(value), { ...init, headers });
  }
}

async function fetch(input, init) {
  const request = new Request(input, init);
  request.signal.throwIfAborted();
  const params = { method: request.method, url: request.url.replace(/#.*$/, ""), headers: Object.fromEntries(request.headers) };
  const { text, bytes } = request.content;
  if (text !== undefined) params.body = text;
  else if (bytes) params.body = await spool(bytes);
  if (request.redirect === "manual") params.redirect = "manual";
  if (request.signal.due !== undefined) params.timeoutMs = Math.max(Math.ceil(request.signal.due - Date.now()), 1);
  let answer;
  try {
    answer = await ask("http/fetch", params);
  } catch (e) {
    if (e.kind === "timeout" && request.signal.due !== undefined) throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    throw e;
  }
  const headers = Object.entries(answer.headers ?? {}).flatMap(([k, v]) => [v].flat().map((one) => [k, one]));
  const redirected = answer.url !== undefined && answer.url !== params.url;
  if (redirected && request.redirect === "error") throw new TypeError("fetch failed: unexpected redirect");
  return new Response(null, { load: () => readAll(answer.body), status: answer.status, headers, url: answer.url ?? request.url, redirected });
}
