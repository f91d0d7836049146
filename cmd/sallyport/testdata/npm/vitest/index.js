// The part of vitest that the tests of zod use: tests are collected, and run one after the other.
const tests = [];

export const test = (name, run) => tests.push({ name, run });
export const it = test;
export const describe = (_, body) => body();
test.skip = describe.skip = () => {};

// expectTypeOf is checked by the compiler of TypeScript only: every use of it gives the same.
export const expectTypeOf = () => anything;
const anything = new Proxy(() => anything, { get: () => anything, apply: () => anything });

// same compares as toEqual does: undefined members count for nothing.
function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((k) => same(a[k], b[k]));
}

// contains compares as toMatchObject does: members that are not wanted count for nothing.
function contains(a, b) {
  if (typeof b !== "object" || !b || typeof a !== "object" || !a) return same(a, b);
  return Object.keys(b).every((k) => contains(a[k], b[k])) && (!Array.isArray(b) || a.length === b.length);
}

function thrown(f) {
  try {
    f();
  } catch (e) {
    return { error: e };
  }
}

const matchers = {
  toBe: (got, want) => Object.is(got, want),
  toEqual: same,
  toStrictEqual: same,
  toBeUndefined: (got) => got === undefined,
  toBeDefined: (got) => got !== undefined,
  toBeNull: (got) => got === null,
  toBeInstanceOf: (got, want) => got instanceof want,
  toMatch: (got, want) => (typeof want === "string" ? got.includes(want) : want.test(got)),
  toMatchObject: contains,
  toContain: (got, want) => got.includes(want),
  toHaveLength: (got, want) => got.length === want,
  toThrow: (got, want) => {
    const t = thrown(got);
    return !!t && (want === undefined || (typeof want === "function" ? t.error instanceof want : want instanceof RegExp ? want.test(t.error.message) : String(t.error.message).includes(want)));
  },
};

let count = 0;

export function expect(got) {
  const made = { not: {} };
  for (const [name, fits] of Object.entries(matchers))
    for (const [on, wanted] of [[made, true], [made.not, false]])
      on[name] = (...want) => {
        count++;
        if (!!fits(got, ...want) !== wanted) throw new Error(`got ${String(got)}, want ${wanted ? "" : "not "}${name} ${want.map(String)}`);
      };
  return made;
}

// run runs all tests, and returns their number, that of their expectations, and the failures.
export async function run() {
  const failures = [];
  for (const { name, run } of tests) {
    try {
      await run();
    } catch (e) {
      failures.push(`${name}: ${e?.message}`);
    }
  }
  return { tests: tests.length, expectations: count, failures };
}
