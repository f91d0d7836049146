// structuredClone, and crypto as far as random numbers go.

const errorTypes = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function structuredClone(value, options = {}) {
  return cloneOf(value, new Map(), new Set(options?.transfer ?? []));
}

function notCloned(value) {
  const name = typeof value === "function" ? String(value).slice(0, 60) : typeof value === "symbol" ? String(value) : "#<Object>";
  return new DOMException(`${name} could not be cloned.`, "DataCloneError");
}

function cloneOf(value, seen, transfer) {
  if (typeof value === "function" || typeof value === "symbol") throw notCloned(value);
  if (value === null || typeof value !== "object") return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (copy) => (seen.set(value, copy), copy);
  const inner = (v) => cloneOf(v, seen, transfer);
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) return keep(Object(value.valueOf()));
  if (value instanceof ArrayBuffer) return keep(transfer.has(value) ? value.transfer() : value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = inner(value.buffer);
    return keep(new value.constructor(buffer, value.byteOffset, value instanceof DataView ? value.byteLength : value.length));
  }
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [k, v] of [...value]) copy.set(inner(k), inner(v));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const v of [...value]) copy.add(inner(v));
    return copy;
  }
  if (value instanceof Error) {
    const copy = keep(Object.create((errorTypes[value.name] ?? Error).prototype));
    for (const key of ["message", "stack", "cause"]) {
      if (Object.hasOwn(value, key)) Object.defineProperty(copy, key, { value: inner(value[key]), writable: true, configurable: true });
    }
    return copy;
  }
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) throw notCloned(value);
  const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) Object.defineProperty(copy, key, { value: inner(value[key]), writable: true, enumerable: true, configurable: true });
  return copy;
}

function fresh(name) {
  if (host.importing()) throw new Error(`crypto.${name}: what is drawn while the script is imported would be the same in every call; do this inside of a tool`);
}

const crypto = {
  getRandomValues(view) {
    fresh("getRandomValues");
    if (!ArrayBuffer.isView(view) || view instanceof DataView || view instanceof Float32Array || view instanceof Float64Array) {
      throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    }
    if (view.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
    const bytes = bytesOf(view);
    for (let n = 0; n < bytes.length; n += 256) bytes.set(new Uint8Array(host.random(Math.min(256, bytes.length - n))), n);
    return view;
  },
  randomUUID() {
    fresh("randomUUID");
    const b = new Uint8Array(host.random(16));
    b[6] = (b[6] & 15) | 64;
    b[8] = (b[8] & 63) | 128;
    const h = [...b].map((v) => v.toString(16).padStart(2, "0")).join("");
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
  },
};
