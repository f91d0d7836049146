// URL and URLSearchParams as the URL Standard has them.

const special = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
const hex = (b) => `%${b < 16 ? "0" : ""}${b.toString(16).toUpperCase()}`;

// escape encodes the characters of a set, and all that are not ASCII.
function escapeURL(text, set) {
  let out = "";
  for (const c of text) {
    const code = c.codePointAt(0);
    if (code > 0x7e || code < 0x20 || set.includes(c)) for (const b of new Uint8Array(host.encode(c))) out += hex(b);
    else out += c;
  }
  return out;
}
const inFragment = ' "<>`', inQuery = ' "#<>', inSpecialQuery = ` "#<>'`, inPath = ' "#<>?`{}^', inUser = ` "#<>?\`{}/:;=@[\\]^|`;

function unescapeBytes(text) {
  const bytes = [...new Uint8Array(host.encode(text))];
  const out = [];
  for (let i = 0; i < bytes.length; i++) {
    const two = String.fromCharCode(bytes[i + 1] ?? 32, bytes[i + 2] ?? 32);
    if (bytes[i] === 37 && /^[0-9a-fA-F]{2}$/.test(two)) out.push(parseInt(two, 16)), (i += 2);
    else out.push(bytes[i]);
  }
  return new Uint8Array(out);
}
function unescapeURL(text) {
  const bytes = unescapeBytes(text);
  return host.decode(bytes.buffer, 0, bytes.length, false);
}

// punycode encodes one label of a host (RFC 3492).
function punycode(label) {
  const input = [...label].map((c) => c.codePointAt(0));
  let out = input.filter((c) => c < 128).map((c) => String.fromCharCode(c)).join("");
  const basic = out.length;
  let handled = basic, n = 128, delta = 0, bias = 72;
  if (basic) out += "-";
  while (handled < input.length) {
    const m = Math.min(...input.filter((c) => c >= n));
    delta += (m - n) * (handled + 1);
    n = m;
    for (const c of input) {
      if (c < n) delta++;
      if (c !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        out += "abcdefghijklmnopqrstuvwxyz0123456789"[t + ((q - t) % (36 - t))];
        q = Math.floor((q - t) / (36 - t));
      }
      out += "abcdefghijklmnopqrstuvwxyz0123456789"[q];
      let d = Math.floor(delta / (handled === basic ? 700 : 2));
      d += Math.floor(d / (handled + 1));
      let k = 0;
      for (; d > 455; k += 36) d = Math.floor(d / 35);
      bias = k + Math.floor((36 * d) / (d + 38));
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return `xn--${out}`;
}

// ipv4Of returns the address of a host that ends in a number; undefined if it is a name, null if it is invalid.
function ipv4Of(name) {
  const parts = name.split(".");
  if (parts.length > 1 && parts.at(-1) === "") parts.pop();
  const isNumber = (p) => /^(0x[0-9a-f]*|[0-9]+)$/i.test(p);
  if (!isNumber(parts.at(-1))) return undefined;
  if (parts.length > 4) return null;
  const values = parts.map((p) => {
    if (!isNumber(p)) return NaN;
    if (/^0x/i.test(p)) return p.length === 2 ? 0 : parseInt(p, 16);
    if (p.length > 1 && p[0] === "0") return /^[0-7]+$/.test(p) ? parseInt(p, 8) : NaN;
    return parseInt(p, 10);
  });
  const last = values.pop();
  if (values.some((v) => !(v <= 255)) || !(last < 256 ** (4 - values.length))) return null;
  const address = values.reduce((sum, v, i) => sum + v * 256 ** (3 - i), last);
  return [24, 16, 8, 0].map((s) => Math.floor(address / 2 ** s) % 256).join(".");
}

// ipv6Of returns an address in its shortest form, null if it is invalid.
function ipv6Of(text) {
  const tail = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (tail) {
    const b = tail.slice(2).map(Number);
    if (b.some((v, i) => v > 255 || (tail[i + 2].length > 1 && tail[i + 2][0] === "0"))) return null;
    text = `${tail[1]}${(b[0] * 256 + b[1]).toString(16)}:${(b[2] * 256 + b[3]).toString(16)}`;
  }
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [head, rest] = halves.map((h) => (h === "" ? [] : h.split(":")));
  const groups = rest === undefined ? head : [...head, ...Array(Math.max(8 - head.length - rest.length, 0)).fill("0"), ...rest];
  if (groups.length !== 8 || (rest !== undefined && head.length + rest.length > 7) || groups.some((g) => !/^[0-9a-f]{1,4}$/i.test(g))) return null;
  const values = groups.map((g) => parseInt(g, 16));
  let best = 0, from = -1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && values[i + n] === 0) n++;
    if (n > best && n > 1) (best = n), (from = i);
  }
  const shown = values.map((v) => v.toString(16));
  return from < 0 ? shown.join(":") : `${shown.slice(0, from).join(":")}::${shown.slice(from + best).join(":")}`;
}

function hostOf(text, isSpecial) {
  if (text.startsWith("[")) {
    const address = text.endsWith("]") ? ipv6Of(text.slice(1, -1)) : null;
    return address === null ? null : `[${address}]`;
  }
  if (!isSpecial) return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(text) ? null : escapeURL(text, "");
  let name = unescapeURL(text).normalize("NFKC").toLowerCase().replace(/[\u00ad\u200b\u2060\ufeff]/g, "").replace(/[。．｡]/g, ".");
  if (/[^\x00-\x7f]/.test(name)) name = name.split(".").map((l) => (/[^\x00-\x7f]/.test(l) ? punycode(l) : l)).join(".");
  if (name === "" || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) return null;
  const address = ipv4Of(name);
  return address === undefined ? name : address;
}

const isDot = (s) => /^(\.|%2e)$/i.test(s), isDots = (s) => /^(\.|%2e){2}$/i.test(s);

// pathOf joins the segments of a path to those of its base.
function pathOf(text, base, isSpecial, scheme) {
  const out = [...base];
  const segments = (isSpecial ? text.replaceAll("\\", "/") : text).split("/");
  segments.forEach((s, i) => {
    const last = i === segments.length - 1;
    if (isDots(s)) {
      if (!(scheme === "file:" && out.length === 1 && /^[a-z]:$/i.test(out[0]))) out.pop();
      if (last) out.push("");
    } else if (isDot(s)) {
      if (last) out.push("");
    } else {
      if (scheme === "file:" && out.length === 0 && /^[a-z][:|]$/i.test(s)) s = `${s[0]}:`;
      out.push(escapeURL(s, inPath));
    }
  });
  return out;
}

// parseURL returns the parts of a URL; null if it is invalid.
function parseURL(input, base) {
  let text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  let fragment = null;
  const hash = text.indexOf("#");
  if (hash >= 0) (fragment = escapeURL(text.slice(hash + 1), inFragment)), (text = text.slice(0, hash));
  const named = /^([a-z][a-z0-9+.-]*):/i.exec(text);
  let scheme = named?.[1].toLowerCase();
  let u = { protocol: "", username: "", password: "", host: null, port: "", path: [], opaque: null, query: null, fragment };
  if (named) {
    u.protocol = `${scheme}:`;
    text = text.slice(named[0].length);
  } else if (!base || (base.opaque !== null && !(text === "" && fragment !== null))) {
    return null;
  } else {
    u.protocol = base.protocol;
  }
  const isSpecial = u.protocol in special;
  const q = text.indexOf("?");
  let query = null;
  if (q >= 0) (query = text.slice(q + 1)), (text = text.slice(0, q));
  u.query = query === null ? null : escapeURL(query, isSpecial ? inSpecialQuery : inQuery);
  const slashes = isSpecial ? /^[/\\]*/.exec(text)[0].length : /^\/*/.exec(text)[0].length;
  const relative = !named || (isSpecial && base?.protocol === u.protocol && slashes < 2 && u.protocol !== "file:") || (named && u.protocol === "file:" && slashes < 2 && base?.protocol === "file:");
  if (base?.opaque != null && !named) return { ...base, fragment };
  if (named && !isSpecial && slashes === 0) {
    u.opaque = escapeURL(text, "");
    if (u.query === null && u.fragment === null) u.opaque = u.opaque.replace(/ +$/, "");
    return u;
  }
  const authority = (isSpecial && u.protocol !== "file:" && !(relative && base && slashes < 2)) || slashes >= 2;
  if (authority) {
    let rest = text.slice(isSpecial && u.protocol !== "file:" ? slashes : 2);
    const end = rest.search(isSpecial ? /[/\\]/ : /\//);
    let place = end < 0 ? rest : rest.slice(0, end);
    let path = end < 0 ? "" : rest.slice(end);
    if (u.protocol === "file:") {
      if (/^[a-z][:|]$/i.test(place)) (path = `/${place}${path}`), (place = "");
      const name = place === "" ? "" : hostOf(place, true);
      if (name === null) return null;
      u.host = name === "localhost" ? "" : name;
    } else {
      const who = place.lastIndexOf("@");
      if (who >= 0) {
        const user = place.slice(0, who), colon = user.indexOf(":");
        u.username = escapeURL(colon < 0 ? user : user.slice(0, colon), inUser);
        u.password = colon < 0 ? "" : escapeURL(user.slice(colon + 1), inUser);
        place = place.slice(who + 1);
        if (place === "" || place.startsWith(":")) return null;
      }
      const port = /:([0-9]*)$/.exec(place.replace(/^\[.*\]/, (s) => "x".repeat(s.length)));
      if (port) {
        if (Number(port[1]) > 65535) return null;
        u.port = port[1] === "" || String(Number(port[1])) === special[u.protocol] ? "" : String(Number(port[1]));
        place = place.slice(0, -port[0].length);
      }
      if (place === "" && (isSpecial || port)) return null;
      u.host = place === "" ? "" : hostOf(place, isSpecial);
      if (u.host === null) return null;
    }
    if (path !== "") u.path = pathOf(path.slice(1), [], isSpecial, u.protocol);
    else if (isSpecial) u.path = [""];
    return u;
  }
  if (!base || (named && !relative)) { // file:path, or foo:/path
    if (u.protocol === "file:") u.host = "";
    u.path = pathOf(text.slice(slashes > 0 ? 1 : 0), [], isSpecial, u.protocol);
    return u;
  }
  for (const key of ["username", "password", "host", "port"]) u[key] = base[key];
  if (slashes > 0) {
    u.path = pathOf(text.slice(1), u.protocol === "file:" && /^[a-z]:$/i.test(base.path[0] ?? "") ? [base.path[0]] : [], isSpecial, u.protocol);
  } else if (text === "") {
    u.path = [...base.path];
    if (u.query === null && q < 0) u.query = base.query;
  } else {
    u.path = pathOf(text, base.path.slice(0, -1), isSpecial, u.protocol);
  }
  return u;
}

const pathText = (u) => (u.opaque !== null ? u.opaque : u.path.map((s) => `/${s}`).join(""));

function urlText(u, fragment = true) {
  let out = u.protocol;
  if (u.host !== null) {
    out += "//";
    if (u.username || u.password) out += `${u.username}${u.password ? `:${u.password}` : ""}@`;
    out += u.host + (u.port ? `:${u.port}` : "");
  } else if (u.opaque === null && u.path.length > 1 && u.path[0] === "") {
    out += "/.";
  }
  out += pathText(u);
  if (u.query !== null) out += `?${u.query}`;
  if (fragment && u.fragment !== null) out += `#${u.fragment}`;
  return out;
}

const formText = (text) => {
  let out = "";
  for (const b of new Uint8Array(host.encode(text))) {
    const c = String.fromCharCode(b);
    out += b === 32 ? "+" : /[A-Za-z0-9*\-._]/.test(c) ? c : hex(b);
  }
  return out;
};

class URLSearchParams {
  #list = [];
  #url;
  constructor(init = "", url) {
    this.#url = url;
    if (init === null || (typeof init !== "object" && typeof init !== "function")) {
      this.#read(String(init).replace(/^\?/, ""));
    } else if (typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const two = [...pair];
        if (two.length !== 2) throw new TypeError("Each query pair must be an iterable [name, value] tuple");
        this.#list.push([String(two[0]).toWellFormed(), String(two[1]).toWellFormed()]);
      }
    } else {
      for (const key of Object.keys(init)) this.#list.push([key.toWellFormed(), String(init[key]).toWellFormed()]);
    }
  }
  #read(text) {
    this.#list = text.split("&").filter(Boolean).map((part) => {
      const i = part.indexOf("=");
      return [i < 0 ? part : part.slice(0, i), i < 0 ? "" : part.slice(i + 1)].map((s) => unescapeURL(s.replaceAll("+", " ")));
    });
  }
  #changed() {
    this.#url?.(this.toString());
  }
  get size() {
    return this.#list.length;
  }
  append(name, value) {
    this.#list.push([String(name).toWellFormed(), String(value).toWellFormed()]);
    this.#changed();
  }
  delete(name, value) {
    this.#list = this.#list.filter(([k, v]) => k !== String(name) || (value !== undefined && v !== String(value)));
    this.#changed();
  }
  get(name) {
    return this.#list.find(([k]) => k === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#list.filter(([k]) => k === String(name)).map(([, v]) => v);
  }
  has(name, value) {
    return this.#list.some(([k, v]) => k === String(name) && (value === undefined || v === String(value)));
  }
  set(name, value) {
    const first = this.#list.findIndex(([k]) => k === String(name));
    if (first < 0) return this.append(name, value);
    this.#list[first][1] = String(value).toWellFormed();
    this.#list = this.#list.filter(([k], i) => i <= first || k !== String(name));
    this.#changed();
  }
  sort() {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }
  forEach(f, self) {
    for (const [k, v] of this.#list) f.call(self, v, k, this);
  }
  *keys() {
    for (const [k] of this.#list) yield k;
  }
  *values() {
    for (const [, v] of this.#list) yield v;
  }
  *entries() {
    for (const [k, v] of this.#list) yield [k, v];
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#list.map(([k, v]) => `${formText(k)}=${formText(v)}`).join("&");
  }
  // reread takes over a new query of its URL.
  static reread(params, text) {
    params.#read(text);
  }
}
const reread = URLSearchParams.reread;
delete URLSearchParams.reread;

class URL {
  #parts;
  #params;
  constructor(url, base) {
    const above = base === undefined ? undefined : parseURL(String(base), undefined);
    this.#parts = above === null ? null : parseURL(String(url).toWellFormed(), above);
    if (this.#parts === null) throw Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: String(url) });
  }
  static canParse(url, base) {
    return URL.parse(url, base) !== null;
  }
  static parse(url, base) {
    try {
      return new URL(url, base);
    } catch {
      return null;
    }
  }
  get href() { return urlText(this.#parts); }
  set href(v) {
    const parts = parseURL(String(v));
    if (parts === null) throw new TypeError("Invalid URL");
    this.#parts = parts;
    this.#reread();
  }
  get origin() {
    const u = this.#parts;
    if (u.protocol === "blob:") return URL.parse(pathText(u))?.origin ?? "null";
    return u.protocol in special && u.protocol !== "file:" ? `${u.protocol}//${this.host}` : "null";
  }
  get protocol() { return this.#parts.protocol; }
  set protocol(v) {
    const p = /^[a-z][a-z0-9+.-]*/i.exec(String(v))?.[0].toLowerCase();
    if (!p || `${p}:` in special !== this.#parts.protocol in special) return;
    this.#parts.protocol = `${p}:`;
    if (this.#parts.port === special[`${p}:`]) this.#parts.port = "";
  }
  get username() { return this.#parts.username; }
  set username(v) { if (this.#parts.host) this.#parts.username = escapeURL(String(v), inUser); }
  get password() { return this.#parts.password; }
  set password(v) { if (this.#parts.host) this.#parts.password = escapeURL(String(v), inUser); }
  get host() { return (this.#parts.host ?? "") + (this.#parts.port ? `:${this.#parts.port}` : ""); }
  set host(v) { this.#place(String(v), true); }
  get hostname() { return this.#parts.host ?? ""; }
  set hostname(v) { this.#place(String(v), false); }
  #place(v, port) {
    const u = this.#parts;
    if (u.opaque !== null) return;
    const made = parseURL(`${u.protocol}//${v.split(/[/?#]/)[0]}`);
    if (made === null || made.host === "" && u.protocol in special && u.protocol !== "file:") return;
    u.host = made.host;
    if (port && made.port) u.port = made.port;
  }
  get port() { return this.#parts.port; }
  set port(v) {
    if (!this.#parts.host || this.#parts.protocol === "file:") return;
    const n = /^[0-9]+/.exec(String(v))?.[0];
    if (String(v) === "") this.#parts.port = "";
    else if (n !== undefined && Number(n) <= 65535) this.#parts.port = String(Number(n)) === special[this.#parts.protocol] ? "" : String(Number(n));
  }
  get pathname() { return pathText(this.#parts); }
  set pathname(v) {
    const u = this.#parts;
    if (u.opaque !== null) return;
    u.path = pathOf(String(v).replace(u.protocol in special ? /^[/\\]/ : /^\//, ""), [], u.protocol in special, u.protocol);
  }
  get search() { return this.#parts.query ? `?${this.#parts.query}` : ""; }
  set search(v) {
    const text = String(v).replace(/^\?/, "");
    this.#parts.query = String(v) === "" ? null : escapeURL(text, this.#parts.protocol in special ? inSpecialQuery : inQuery);
    this.#reread();
  }
  get hash() { return this.#parts.fragment ? `#${this.#parts.fragment}` : ""; }
  set hash(v) { this.#parts.fragment = String(v) === "" ? null : escapeURL(String(v).replace(/^#/, ""), inFragment); }
  get searchParams() {
    return (this.#params ??= new URLSearchParams(this.#parts.query ?? "", (text) => (this.#parts.query = text === "" ? null : text)));
  }
  #reread() {
    if (this.#params) reread(this.#params, this.#parts.query ?? "");
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
