// Three uses of each library. Node gives the answers that a script has to give too.
import Ajv from "ajv";
import { addBusinessDays, differenceInCalendarDays, eachWeekOfInterval, format, formatDistanceStrict, intervalToDuration, isValid, parse } from "date-fns";
import { camelCase, chunk, cloneDeep, debounce, get, groupBy, isEqual, kebabCase, merge, orderBy, set, template, uniqBy } from "lodash-es";
import { lexer, marked } from "marked";
import YAML from "yaml";
import * as z from "zod";

const orders = [{ id: 1, city: "Rome", price: 3 }, { id: 2, city: "Oslo", price: 9 }, { id: 3, city: "Rome", price: 5 }];
const utc = (text) => new Date(text + "T12:00:00");

export const cases = {
  "zod parses": () => z.object({ name: z.string().min(2), age: z.coerce.number().int().optional(), tags: z.array(z.enum(["a", "b"])).default(["a"]) }).parse({ name: "Ada", age: "36" }),
  "zod refuses": () => z.object({ mail: z.email(), at: z.iso.date(), n: z.union([z.string(), z.number().positive()]) }).safeParse({ mail: "x", at: "2024-02-30", n: -1 }).error.issues,
  "zod has a schema": () => z.toJSONSchema(z.object({ a: z.string().max(3).describe("x"), b: z.record(z.string(), z.tuple([z.number(), z.boolean()])).nullable() })),
  "date-fns formats": () => [format(utc("2024-02-29"), "EEEE, do MMMM yyyy, 'week' I, QQQ"), format(addBusinessDays(utc("2024-03-01"), 7), "yyyy-MM-dd")],
  "date-fns measures": () => [differenceInCalendarDays(utc("2024-03-10"), utc("2023-03-01")), formatDistanceStrict(utc("2024-01-01"), utc("2024-04-10")), intervalToDuration({ start: utc("2020-02-29"), end: utc("2024-03-01") })],
  "date-fns parses": () => [isValid(parse("31.02.2024", "dd.MM.yyyy", utc("2024-01-01"))), format(parse("7 May 2024", "d MMM yyyy", utc("2024-01-01")), "P"), eachWeekOfInterval({ start: utc("2024-01-01"), end: utc("2024-02-01") }).length],
  "marked renders": () => marked.parse("# A *b* `c`\n\n- x\n  1. y\n- [ ] z\n\n> q\n\n```js\n1 < 2\n```\n\n[l](https://e.com \"t\") ![i](j)\n"),
  "marked has tables": () => marked.parse("| a | b |\n|:--|--:|\n| 1 | **2** |\n\n~~no~~ <https://e.com> &copy; www.e.com\n", { gfm: true, breaks: true }),
  "marked has tokens": () => lexer("para *em*\n\n---\n").map((t) => [t.type, t.raw]),
  "yaml parses": () => YAML.parse("a: &x [1, 0x1f, 1e3, ~, yes]\nb: *x\nc: |\n  two\n  lines\nd: >-\n  one\n  line\n? [k]\n: !!str 3\ne: 2024-01-01\n"),
  "yaml keeps comments": () => { const d = YAML.parseDocument("# top\na: 1 # one\nb:\n  - x\n"); d.set("c", { d: [true, "no", ""] }); d.deleteIn(["b", 0]); return String(d); },
  "yaml has places": () => YAML.parseDocument("a: [1\nb: }").errors.map((e) => [e.code, e.linePos]),
  "lodash groups": () => [groupBy(orders, "city"), orderBy(orders, ["city", "price"], ["asc", "desc"]).map((o) => o.id), uniqBy(orders, "city").length, chunk([1, 2, 3, 4, 5], 2)],
  "lodash merges": () => [merge({ a: [{ b: 1 }], c: 1 }, { a: [{ d: 2 }] }), get({ a: [{ b: { c: 3 } }] }, "a[0].b.c"), set({}, "x[1].y", 2), isEqual(cloneDeep(orders), orders), isEqual(new Map([[1, new Set([2])]]), new Map([[1, new Set([2])]]))],
  "lodash has words": () => [camelCase("--foo-bar é baz"), kebabCase("fooBarBaz42"), template("<% for (const o of orders) { %><%- o.city %>:<%= o.price %> <% } %>")({ orders }), typeof debounce(() => 1, 10).cancel],
  "ajv validates": () => { const f = new Ajv({ allErrors: true }).compile({ type: "object", properties: { a: { type: "integer", minimum: 2 }, b: { type: "array", items: { enum: ["x"] }, uniqueItems: true } }, required: ["c"], additionalProperties: false }); return [f({ a: 1.5, b: ["x", "x", "y"], d: 1 }), f.errors, f({ c: 1 })]; },
  "ajv follows references": () => { const f = new Ajv({ useDefaults: true, coerceTypes: true }).compile({ $defs: { node: { type: "object", properties: { v: { type: "number", default: 7 }, next: { $ref: "#/$defs/node" } } } }, $ref: "#/$defs/node" }); const data = { next: { v: "3", next: {} } }; return [f(data), data]; },
  "ajv refuses schemas": () => { try { return new Ajv().compile({ type: "strnig" }) && 0; } catch (e) { return e.message; } },
};

// answers returns the answer of each case.
export function answers() {
  return Object.fromEntries(Object.entries(cases).map(([name, answer]) => [name, JSON.stringify(answer())]));
}
