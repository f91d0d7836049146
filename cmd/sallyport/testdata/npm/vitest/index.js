// The part of vitest, jasmine, jest, mocha and QUnit that the tests of the libraries use: tests are collected, and run one after the other.
const tests = [];
let around = { name: "", before: [], after: [], once: [] };

export function describe(name, body) {
  const outer = around;
  around = { name: `${outer.name}${name} > `, before: [...outer.before], after: [...outer.after], once: [...outer.once] };
  body.call(mocha);
  around = outer;
}
// mocha is the context of its tests.
const mocha = { timeout() {}, slow() {} };

export const test = (name, run) => tests.push({ name: around.name + name, run, around });
export const it = test;
export const beforeEach = (f) => around.before.push(f);
export const afterEach = (f) => around.after.push(f);
export const before = (f) => around.once.push(f);
export const beforeAll = before;
export const afterAll = () => {};
test.skip = test.todo = describe.skip = () => {};
test.each = describe.each = (rows) => (name, body) => rows.forEach((row, i) => test(`${name} ${i}`, () => body(...[row].flat())));

// expectTypeOf is checked by the compiler of TypeScript only: every use of it gives the same.
export const expectTypeOf = () => anything;
const anything = new Proxy(() => anything, { get: () => anything, apply: () => anything });

// Fit stands for all values that a function accepts.
class Fit {
  constructor(fits) {
    this.fits = fits;
  }
}
export const asymmetric = {
  any: (type) => new Fit((v) => v instanceof type || Object(v) instanceof type),
  objectContaining: (part) => new Fit((v) => Object.keys(part).every((k) => same(v?.[k], part[k]))),
  arrayContaining: (part) => new Fit((v) => part.every((p) => v.some((x) => same(x, p)))),
  stringContaining: (part) => new Fit((v) => v.includes(part)),
  stringMatching: (part) => new Fit((v) => new RegExp(part).test(v)),
};

// same compares as toEqual does: undefined members count for nothing.
export function same(a, b, seen = new Map()) {
  if (b instanceof Fit) return b.fits(a);
  if (a === b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  if (a instanceof Date || a instanceof RegExp || a instanceof Error) return String(a) === String(b) && Object.is(+a, +b);
  if (a instanceof Number || a instanceof String || a instanceof Boolean) return Object.is(a.valueOf(), b.valueOf());
  if (a instanceof Map || a instanceof Set) return same([...a], [...b], seen);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((k) => same(a[k], b[k], seen));
}

// contains compares as toMatchObject does: members that are not wanted count for nothing.
function contains(a, b) {
  if (b instanceof Fit) return b.fits(a);
  if (typeof b !== "object" || !b || typeof a !== "object" || !a || b instanceof Date) return same(a, b);
  return Object.keys(b).every((k) => contains(a[k], b[k])) && (!Array.isArray(b) || a.length === b.length);
}

function thrown(f) {
  try {
    f();
  } catch (e) {
    return { error: e };
  }
}

// fn returns a function that records its calls.
export function fn(body = () => undefined, own = body) {
  const f = (...args) => (f.mock.calls.push(args), body(...args));
  f.mock = { calls: [] };
  f.and = { returnValue: (v) => ((body = () => v), f), callFake: (g) => ((body = g), f), callThrough: () => ((body = own), f) };
  f.mockImplementation = (g) => ((body = g), f);
  f.mockReturnValue = (v) => ((body = () => v), f);
  f.mockClear = () => (f.mock.calls.length = 0);
  f.mockRestore = () => {};
  return f;
}

// spyOn replaces a method by a function that records its calls.
export function spyOn(object, name) {
  const was = object[name];
  const f = (object[name] = fn((...args) => was.apply(object, args)));
  around.after.push(() => (object[name] = was));
  f.mockRestore = () => (object[name] = was);
  return f;
}

const html = (text) => String(text).replace(/&#(\d+);/g, (_, n) => String.fromCodePoint(n)).replaceAll(" />", ">").replaceAll("'", '"').replace(/\s+/g, " ").replace(/> | </g, (s) => s.trim()).trim();

const matchers = {
  toBe: (got, want) => Object.is(got, want),
  toBeTrue: (got) => got === true,
  toBeFalse: (got) => got === false,
  toBeTruthy: (got) => !!got,
  toBeFalsy: (got) => !got,
  toEqual: (got, want) => same(got, want),
  toStrictEqual: (got, want) => same(got, want),
  toEqualHtml: (got, want) => html(got) === html(want),
  toBeUndefined: (got) => got === undefined,
  toBeDefined: (got) => got !== undefined,
  toBeNull: (got) => got === null,
  toBeGreaterThan: (got, want) => got > want,
  toBeLessThan: (got, want) => got < want,
  toBeInstanceOf: (got, want) => got instanceof want,
  toMatch: (got, want) => (typeof want === "string" ? got.includes(want) : want.test(got)),
  toMatchObject: contains,
  toContain: (got, want) => got.includes(want),
  toHaveLength: (got, want) => got.length === want,
  toHaveProperty: (got, name) => name in got,
  toHaveBeenCalled: (got) => got.mock.calls.length > 0,
  toHaveBeenCalledTimes: (got, n) => got.mock.calls.length === n,
  toHaveBeenCalledWith: (got, ...args) => got.mock.calls.some((c) => same(c, args)),
  toThrow: (got, want) => {
    const t = thrown(got);
    return !!t && (want === undefined || (typeof want === "function" ? t.error instanceof want : want instanceof RegExp ? want.test(t.error.message) : String(t.error.message).includes(want?.message ?? want)));
  },
};
matchers.toThrowError = matchers.toThrow;

let count = 0;

// check counts an expectation, and fails the test if it does not hold.
export function check(holds, text) {
  count++;
  if (!holds) throw new Error(text());
}

const show = (v) => (typeof v === "function" ? "a function" : typeof v === "object" && v ? Object.prototype.toString.call(v) : String(v));

export function expect(got) {
  const made = { not: {} };
  for (const [name, fits] of Object.entries(matchers))
    for (const [on, wanted] of [[made, true], [made.not, false]])
      on[name] = (...want) => check(!!fits(got, ...want) === wanted, () => `got ${show(got)}, want ${wanted ? "" : "not "}${name} ${want.map(show)}`);
  made.rejects = Object.fromEntries(Object.keys(matchers).map((name) => [name, async (...want) => {
    let e;
    try {
      await got;
    } catch (error) {
      e = error;
    }
    check(!!e && !!(name.startsWith("toThrow") ? matchers.toThrow(() => { throw e; }, ...want) : matchers[name](e, ...want)), () => `got ${show(e)} rejected, want ${name}`);
  }]));
  return made;
}
Object.assign(expect, asymmetric);

// run runs all tests, and returns their names, the number of their expectations, and the failures by name.
export async function run() {
  const failures = {};
  for (const [i, { name, run, around }] of tests.entries()) {
    try {
      for (const f of [...around.once.splice(0), ...around.before]) await f.call(mocha);
      await (run.length === 1 ? new Promise((done, fail) => Promise.resolve(run.call(mocha, Object.assign((e) => (e ? fail(e) : done()), { fail }))).catch(fail)) : run.call(mocha));
    } catch (e) {
      failures[`${i} ${name}`] = String(e?.message ?? e);
    }
    for (const f of around.after) await f();
  }
  return { tests: tests.length, expectations: count, failures };
}
