// Schemas: from the short form, a JSON Schema, or a Standard Schema.

const shortType = /^(string|number|integer|boolean|object|any)((?:\[\])*)(\?)?(?:\s+([\s\S]*))?$/;

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isStandard = (v) => (isObject(v) || typeof v === "function") && isObject(v["~standard"]);
const isJSONSchema = (v) => isObject(v) && (v.type === "object" || ["$schema", "$ref", "anyOf", "oneOf", "allOf"].some((k) => k in v));

// schemaOf returns the JSON Schema of the arguments or the results of a tool.
function schemaOf(given, where) {
  if (given === undefined) return { type: "object" };
  if (isStandard(given)) return standardSchema(given, where);
  if (isJSONSchema(given)) return given;
  if (!isObject(given)) throw new TypeError(`${where} is no schema: write { name: "string" }, a JSON Schema of type object, or a Standard Schema such as zod's`);
  return shortObject(given, where);
}

function shortObject(given, where) {
  const properties = {}, required = [];
  for (const key of Object.keys(given)) {
    const { schema, optional } = short(given[key], `${where}.${key}`);
    Object.defineProperty(properties, key, { value: schema, enumerable: true });
    if (!optional) required.push(key);
  }
  return { type: "object", properties, ...(required.length ? { required } : {}), additionalProperties: false };
}

function short(given, where) {
  if (typeof given === "string") {
    const m = shortType.exec(given);
    if (!m) throw new TypeError(`${where}: ${stringify(given)} is no type: begin with string, number, integer, boolean, object or any, then [] for a list, ? if it may be absent, and a description`);
    let schema = m[1] === "any" ? {} : { type: m[1] };
    for (let n = m[2].length; n > 0; n -= 2) schema = { type: "array", items: schema };
    if (m[4]) schema.description = m[4];
    return { schema, optional: Boolean(m[3]) };
  }
  if (Array.isArray(given) && given.length === 1 && (isObject(given[0]))) return { schema: { type: "array", items: short(given[0], `${where}[0]`).schema } };
  if (Array.isArray(given) && given.length > 0 && given.every((v) => ["string", "number", "boolean"].includes(typeof v))) return { schema: oneOf(given) };
  if (isStandard(given)) return { schema: standardSchema(given, where) };
  if (isObject(given)) return { schema: isPlainSchema(given) ? given : shortObject(given, where) };
  throw new TypeError(`${where} is no type: write "string", a list of allowed values, or an object of members`);
}

// oneOf allows some values, which forms need the type of.
const oneOf = (values) => (values.every((v) => typeof v === typeof values[0]) ? { type: typeof values[0], enum: values } : { enum: values });

const types = ["string", "number", "integer", "boolean", "object", "array", "null"];
// A member that is itself a JSON Schema, such as { type: "string", maxLength: 5 }.
const isPlainSchema = (v) => isJSONSchema(v) || "enum" in v && Array.isArray(v.enum) || "const" in v || (types.includes(v.type) && Object.keys(v).length > 1) || Array.isArray(v.type);

// standardSchema asks the library for its JSON Schema.
function standardSchema(given, where) {
  const standard = given["~standard"];
  let schema;
  try {
    if (typeof standard.jsonSchema?.input === "function") schema = standard.jsonSchema.input({ target: "draft-2020-12" });
    else if (typeof given.toJSONSchema === "function") schema = given.toJSONSchema({ io: "input" });
    else if (typeof given.toJsonSchema === "function") schema = given.toJsonSchema();
    else if (standard.vendor === "valibot") schema = valibotSchema(given, where);
  } catch (e) {
    throw new TypeError(`${where}: ${standard.vendor} has no JSON Schema for it: ${textOf(e)}`);
  }
  if (!isObject(schema)) {
    throw new TypeError(`${where}: ${standard.vendor} offers no JSON Schema here; convert it yourself and pass both: { input: schema, inputSchema: {…} }`);
  }
  return schema;
}

const valibotTypes = { string: { type: "string" }, number: { type: "number" }, boolean: { type: "boolean" }, any: {}, unknown: {}, null: { type: "null" } };
const valibotRules = {
  min_length: (s, n) => (s.type === "array" ? { minItems: n } : { minLength: n }), max_length: (s, n) => (s.type === "array" ? { maxItems: n } : { maxLength: n }),
  min_value: (_, n) => ({ minimum: n }), max_value: (_, n) => ({ maximum: n }), integer: () => ({ type: "integer" }), email: () => ({ format: "email" }),
  url: () => ({ format: "uri" }), uuid: () => ({ format: "uuid" }), regex: (_, r) => ({ pattern: r.source }), description: (_, d) => ({ description: d }), title: (_, t) => ({ title: t }),
};

// valibotSchema reads the plain objects that valibot's schemas are.
function valibotSchema(v, where) {
  let schema = valibotBase(v, where);
  for (const item of (v.pipe ?? []).slice(1)) {
    const rule = valibotRules[item.type];
    if (rule) schema = { ...schema, ...rule(schema, item.requirement ?? item.description ?? item.title) };
  }
  return schema;
}

function valibotBase(v, where) {
  switch (v.type) {
    case "object": case "loose_object": case "strict_object": {
      const properties = {}, required = [];
      for (const key of Object.keys(v.entries)) {
        const entry = v.entries[key];
        properties[key] = valibotSchema(entry, `${where}.${key}`);
        if (!["optional", "nullish", "exact_optional"].includes(entry.type)) required.push(key);
      }
      return { type: "object", properties, required, ...(v.type === "strict_object" ? { additionalProperties: false } : {}) };
    }
    case "array": return { type: "array", items: valibotSchema(v.item, `${where}[]`) };
    case "optional": case "exact_optional": case "non_optional": {
      const inner = valibotSchema(v.wrapped, where);
      return v.default === undefined || typeof v.default === "function" ? inner : { ...inner, default: v.default };
    }
    case "nullable": case "nullish": return { anyOf: [valibotSchema(v.wrapped, where), { type: "null" }] };
    case "picklist": case "enum": return oneOf(v.options);
    case "literal": return { const: v.literal };
    case "union": case "variant": return { anyOf: v.options.map((o) => valibotSchema(o, where)) };
    case "record": return { type: "object", additionalProperties: valibotSchema(v.value, where) };
  }
  if (v.type in valibotTypes) return { ...valibotTypes[v.type] };
  throw new TypeError(`${where}: valibot's ${v.type}`);
}

// holdsDefault reports whether a schema has a default anywhere, so that most arguments need no walk.
function holdsDefault(schema, seen = new Set()) {
  if (schema === null || typeof schema !== "object" || seen.has(schema)) return false;
  seen.add(schema);
  return Object.hasOwn(schema, "default") || Object.values(schema).some((v) => holdsDefault(v, seen));
}

// fill sets the defaults of a JSON Schema where members are absent, at every depth below properties and items, and returns
// the value.
function fill(schema, value) {
  if (!isObject(schema)) return value;
  if (Array.isArray(value) && isObject(schema.items)) value.forEach((item) => fill(schema.items, item));
  if (!isObject(value) || !isObject(schema.properties)) return value;
  for (const key of Object.keys(schema.properties)) {
    const member = schema.properties[key];
    if (!Object.hasOwn(value, key) && isObject(member) && Object.hasOwn(member, "default")) {
      Object.defineProperty(value, key, { value: parse(stringify(member.default)), writable: true, enumerable: true, configurable: true });
    }
    if (Object.hasOwn(value, key)) fill(member, value[key]);
  }
  return value;
}

// validated returns the arguments as a Standard Schema has them.
async function validated(schema, args) {
  const r = await schema["~standard"].validate(args);
  if (!r.issues) return r.value;
  const lines = r.issues.map((i) => {
    const path = (i.path ?? []).map((p) => (isObject(p) ? p.key : p)).join(".");
    return path ? `${path}: ${i.message}` : i.message;
  });
  throw new ToolError(`the arguments do not fit: ${lines.join("; ")}`);
}
