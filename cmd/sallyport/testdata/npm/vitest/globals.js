// The functions that tests find without an import.
import * as all from "./index.js";

const { describe, it, test, before, beforeAll, afterAll, beforeEach, afterEach, expect, spyOn, fn, asymmetric } = all;
Object.assign(globalThis, {
  Buffer: { from: (data, encoding) => (encoding === "base64" ? Uint8Array.from(atob(data), (c) => c.charCodeAt(0)) : Uint8Array.from(data)) },
  process: { emitWarning() {}, env: {} },
  fail: (e) => { throw e; },
  global: globalThis, setImmediate: (f) => setTimeout(f, 0), describe, context: describe, it, test, before, beforeAll, afterAll, beforeEach, afterEach, expect, spyOn,
  expectAsync: (got) => { const e = expect(got); return { toEqualHtml: async (want) => e.toEqualHtml(want) }; },
  jest: { fn, spyOn },
  jasmine: { ...asymmetric, createSpy: (_, body) => fn(() => undefined, body) },
});
