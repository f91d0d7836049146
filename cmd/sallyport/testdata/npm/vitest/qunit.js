// QUnit as the tests of lodash use it, and lodash where they look for it.
import { check, same, test } from "./index.js";
import _ from "lodash-es";

let module = "";

// asserter returns the assert argument of a test, and a promise for the callbacks of its async().
function asserter() {
  const waits = [];
  let expected, seen = 0;
  const claim = (holds, text) => (seen++, check(holds, () => text ?? "an assertion does not hold"));
  return {
    finish: async () => {
      await Promise.all(waits);
      if (expected !== undefined && expected !== seen) throw new Error(`got ${seen} assertions, want ${expected}`);
    },
    assert: {
      expect: (n) => (expected = n),
      async: () => { let done; waits.push(new Promise((f) => (done = f))); return () => done(); },
      ok: (v, text) => claim(!!v, text),
      notOk: (v, text) => claim(!v, text),
      equal: (a, b, text) => claim(a == b, text),
      notEqual: (a, b, text) => claim(a != b, text),
      strictEqual: (a, b, text) => claim(a === b, text),
      notStrictEqual: (a, b, text) => claim(a !== b, text),
      deepEqual: (a, b, text) => claim(same(a, b), text),
      raises: (f, kind, text) => { let thrown; try { f(); } catch (e) { thrown = e; } claim(kind ? thrown instanceof kind : thrown, text); },
    },
  };
}

globalThis.QUnit = {
  config: {}, load() {}, start() {},
  module: (name) => (module = name),
  test: (name, body) => {
    const full = `${module}: ${name}`;
    test(full, async () => { const { assert, finish } = asserter(); body(assert); await finish(); });
  },
};
Object.assign(globalThis, { global: globalThis, lodashStable: _, _, process: undefined, Buffer: undefined, ui: { buildPath: "lodash-es", urlParams: {}, loaderPath: "", isModularize: true, isStrict: true } });
