/** Members of arguments, results and forms: their JSON Schema, and their values if they are absent. */

import { Kind, Value } from "./json";

export class Field {
  private fallback: Value | null = null;
  private isOptional: bool = false;
  private isList: bool = false;
  private fields: Field[] = [];
  private allowed: string[] = [];
  private more: Value = Value.object();

  constructor(private type: string, public name: string, public doc: string) {}

  static of(type: string, name: string, doc: string, fields: Field[]): Field {
    const f = new Field(type, name, doc);
    f.fields = fields;
    return f;
  }

  /** The value of an absent member, as JSON, at every depth. */
  or(json: string): Field {
    this.fallback = constant(json);
    return this;
  }
  /** The member may be absent. */
  optional(): Field {
    this.isOptional = true;
    return this;
  }
  /** The member is a list of these. */
  many(): Field {
    this.isList = true;
    return this;
  }
  /** The allowed texts. */
  among(texts: string[]): Field {
    this.allowed = texts;
    return this;
  }
  /** Adds a member to the JSON Schema, such as also("minimum", "1"). */
  also(key: string, json: string): Field {
    this.more.set(key, constant(json));
    return this;
  }

  isRequired(): bool { return !this.isOptional && this.fallback === null; }

  schema(closed: bool): Value {
    let s = this.type == "object" ? schemaOf(this.fields, closed) : Value.object();
    if (this.type != "object" && this.type != "any") s.set("type", Value.str(this.type));
    if (this.allowed.length) s.set("enum", Value.strings(this.allowed));
    if (this.isList) s = Value.object().set("type", Value.str("array")).set("items", s);
    if (this.doc.length) s.set("description", Value.str(this.doc));
    s.set("default", this.fallback);
    for (let i = 0; i < this.more.keys.length; i++) s.set(this.more.keys[i], this.more.items[i]);
    return s;
  }

  /** Sets the member of an object that lacks it. */
  fill(object: Value): void {
    const fallback = this.fallback;
    if (fallback !== null && !object.has(this.name)) object.set(this.name, constant(fallback.toString())); // a copy for each
    const v = object.find(this.name);
    if (v === null) return;
    if (this.isList) for (let i = 0; i < v.items.length; i++) fillAll(v.items[i], this.fields);
    else fillAll(v, this.fields);
  }
}

/** Reads JSON of the author's own. */
export function constant(json: string): Value {
  const v = Value.parse(json);
  assert(v !== null, "no JSON: " + json);
  return v!;
}

/** Sets absent members of an object to their values. */
export function fillAll(v: Value, fields: Field[]): void {
  if (v.kind == Kind.Object) for (let i = 0; i < fields.length; i++) fields[i].fill(v);
}

/** The JSON Schema of an object, which a closed one limits to its fields. */
export function schemaOf(fields: Field[], closed: bool): Value {
  const properties = Value.object(), required = Value.array();
  for (let i = 0; i < fields.length; i++) {
    properties.set(fields[i].name, fields[i].schema(closed));
    if (fields[i].isRequired()) required.add(Value.str(fields[i].name));
  }
  return Value.object().set("type", Value.str("object")).set("properties", properties)
    .set("required", required.items.length ? required : null)
    .set("additionalProperties", closed ? Value.bool(false) : null);
}

export function str(name: string, doc: string = ""): Field { return new Field("string", name, doc); }
export function int(name: string, doc: string = ""): Field { return new Field("integer", name, doc); }
export function num(name: string, doc: string = ""): Field { return new Field("number", name, doc); }
export function flag(name: string, doc: string = ""): Field { return new Field("boolean", name, doc); }
export function obj(name: string, fields: Field[], doc: string = ""): Field { return Field.of("object", name, doc, fields); }
/** Any JSON. */
export function any(name: string, doc: string = ""): Field { return new Field("any", name, doc); }
