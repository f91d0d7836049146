// Text and bytes: TextEncoder, TextDecoder, base64.

function bytesOf(source, name) {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  throw new TypeError(`${name}: the argument is no ArrayBuffer and no view of one`);
}

class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return new Uint8Array(host.encode(String(text)));
  }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const c of String(text)) {
      const bytes = new Uint8Array(host.encode(c));
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += c.length;
    }
    return { read, written };
  }
}

const encodings = {
  "utf-8": ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"],
  "utf-16le": ["utf-16le", "utf-16", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2", "unicodefeff"],
  "windows-1252": ["windows-1252", "latin1", "ascii", "us-ascii", "iso-8859-1", "iso8859-1", "iso_8859-1", "l1", "cp1252", "x-cp1252", "ansi_x3.4-1968", "cp819", "ibm819", "csisolatin1", "iso-ir-100", "iso88591", "iso_8859-1:1987"],
};
const latin = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #rest = new Uint8Array();
  #begun = false;
  constructor(label = "utf-8", options = {}) {
    const wanted = String(label).trim().toLowerCase();
    this.#encoding = Object.keys(encodings).find((name) => encodings[name].includes(wanted));
    if (!this.#encoding) throw new RangeError(`The "${label}" encoding is not supported`);
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }
  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#fatal;
  }
  get ignoreBOM() {
    return this.#ignoreBOM;
  }
  decode(source, options = {}) {
    let bytes = source === undefined ? new Uint8Array() : bytesOf(source, "TextDecoder.decode");
    if (this.#rest.length > 0) {
      const joined = new Uint8Array(this.#rest.length + bytes.length);
      joined.set(this.#rest);
      joined.set(bytes, this.#rest.length);
      bytes = joined;
    }
    const keep = options?.stream ? this.#cut(bytes) : bytes.length;
    this.#rest = bytes.slice(keep);
    let text = this.#text(bytes.subarray(0, keep));
    if (!this.#begun && !this.#ignoreBOM && text.startsWith("\ufeff")) text = text.slice(1);
    this.#begun = Boolean(options?.stream) && (this.#begun || keep > 0);
    return text;
  }
  // cut returns how many bytes end with a whole character.
  #cut(bytes) {
    if (this.#encoding === "utf-16le") return bytes.length & ~1;
    if (this.#encoding !== "utf-8") return bytes.length;
    for (let back = 1; back <= 3 && back <= bytes.length; back++) {
      const b = bytes[bytes.length - back];
      if (b < 0x80) break;
      if (b >= 0xc0) return (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > back ? bytes.length - back : bytes.length;
    }
    return bytes.length;
  }
  #text(bytes) {
    if (this.#encoding === "utf-8") return host.decode(bytes.buffer, bytes.byteOffset, bytes.byteLength, this.#fatal);
    let text = "";
    if (this.#encoding === "utf-16le") {
      for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
      const odd = bytes.length % 2 === 1;
      if (this.#fatal && (odd || !text.isWellFormed())) throw new TypeError("The encoded data was not valid for encoding utf-16le");
      return text.toWellFormed() + (odd ? "\ufffd" : "");
    }
    for (const b of bytes) text += b >= 0x80 && b < 0xa0 ? latin[b - 0x80] : String.fromCharCode(b);
    return text;
  }
}

function base64Of(bytes) {
  let out = "";
  const n = bytes.length;
  for (let i = 0; i < n; i += 3) {
    const v = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    out += digits[v >> 18] + digits[(v >> 12) & 63] + (i + 1 < n ? digits[(v >> 6) & 63] : "=") + (i + 2 < n ? digits[v & 63] : "=");
  }
  return out;
}

function btoa(text) {
  text = String(text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 255) throw new DOMException("Invalid character", "InvalidCharacterError");
    bytes[i] = c;
  }
  return base64Of(bytes);
}

function atob(text) {
  let s = String(text).replace(/[\t\n\f\r ]+/g, "");
  if (s.length % 4 === 0) s = s.replace(/==?$/, "");
  if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  let out = "", bits = 0, value = 0;
  for (const c of s) {
    value = ((value << 6) | digits.indexOf(c)) & 0xffffff;
    bits += 6;
    if (bits >= 8) out += String.fromCharCode((value >> (bits -= 8)) & 255);
  }
  return out;
}
