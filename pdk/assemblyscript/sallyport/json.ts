/** JSON: values, their reader and their writer. */

export const enum Kind { Null, False, True, Number, String, Array, Object }

/** What a value is as content: other JSON, a block, a message of a prompt, or contents of a resource. */
export const enum Role { None, Block, Message, Contents }

/** A JSON value. A number keeps its digits. */
export class Value {
  role: Role = Role.None;
  /** Elements of an array, or values of an object's members. */
  items: Value[] = [];
  keys: string[] = [];

  /** text is that of a string, or the digits of a number. */
  constructor(public kind: Kind, public text: string = "") {}

  static none(): Value { return new Value(Kind.Null); }
  static bool(v: bool): Value { return new Value(v ? Kind.True : Kind.False); }
  static int(v: i64): Value { return new Value(Kind.Number, v.toString()); }
  /** Infinity and NaN, which JSON lacks, are null. */
  static num(v: f64): Value {
    if (!isFinite(v)) return Value.none();
    if (v == Math.trunc(v) && Math.abs(v) <= 9007199254740992.0) return Value.int(<i64>v);
    return new Value(Kind.Number, v.toString());
  }
  static str(v: string): Value { return new Value(Kind.String, v); }
  static object(): Value { return new Value(Kind.Object); }
  static array(all: Value[] = []): Value {
    const v = new Value(Kind.Array);
    v.items = all;
    return v;
  }
  static strings(all: string[]): Value {
    const v = Value.array();
    for (let i = 0; i < all.length; i++) v.add(Value.str(all[i]));
    return v;
  }

  /** Reads a JSON text; null if it is none. */
  static parse(text: string): Value | null { return new Reader(text).whole(); }

  /** Sets a member of an object; a value of null changes nothing. */
  set(key: string, v: Value | null): Value {
    if (v === null) return this;
    const at = this.keys.indexOf(key);
    if (at >= 0) this.items[at] = v;
    else {
      this.keys.push(key);
      this.items.push(v);
    }
    return this;
  }
  /** Adds an element to an array. */
  add(v: Value): Value {
    this.items.push(v);
    return this;
  }

  /** A member of an object, or null. */
  find(key: string): Value | null {
    const at = this.keys.indexOf(key);
    return at < 0 ? null : this.items[at];
  }
  has(key: string): bool { return this.keys.includes(key); }
  /** A member of an object, or the JSON null. */
  get(key: string): Value {
    const v = this.find(key);
    return v === null ? Value.none() : v;
  }

  // The value itself: "", 0 or false if it has another type.
  asStr(): string { return this.kind == Kind.String ? this.text : ""; }
  asNum(): f64 { return this.kind == Kind.Number ? parseFloat(this.text) : 0; }
  asBool(): bool { return this.kind == Kind.True; }
  asInt(): i64 {
    if (this.kind != Kind.Number) return 0;
    for (let i = 0; i < this.text.length; i++) {
      const c = this.text.charCodeAt(i);
      if (c == 0x2e || (c | 32) == 0x65) {
        const d = parseFloat(this.text);
        return Math.abs(d) < 9.2e18 ? <i64>d : 0;
      }
    }
    return I64.parseInt(this.text);
  }

  // A member of an object.
  str(key: string): string { return this.get(key).asStr(); }
  int(key: string): i64 { return this.get(key).asInt(); }
  num(key: string): f64 { return this.get(key).asNum(); }
  flag(key: string): bool { return this.get(key).asBool(); }
  list(key: string): Value[] { return this.get(key).items; }

  /** The JSON text. */
  toString(): string {
    const out: string[] = [];
    this.write(out);
    return out.join("");
  }

  write(out: string[]): void {
    switch (this.kind) {
      case Kind.Null: out.push("null"); break;
      case Kind.False: out.push("false"); break;
      case Kind.True: out.push("true"); break;
      case Kind.Number: out.push(this.text); break;
      case Kind.String: quote(out, this.text); break;
      default: this.writeList(out);
    }
  }

  private writeList(out: string[]): void {
    const object = this.kind == Kind.Object;
    out.push(object ? "{" : "[");
    for (let i = 0; i < this.items.length; i++) {
      if (i) out.push(",");
      if (object) {
        quote(out, this.keys[i]);
        out.push(":");
      }
      this.items[i].write(out);
    }
    out.push(object ? "}" : "]");
  }
}

function quote(out: string[], s: string): void {
  out.push('"');
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 32 && c != 0x22 && c != 0x5c) continue;
    if (i > from) out.push(s.substring(from, i));
    from = i + 1;
    out.push(c >= 32 ? "\\" + s.charAt(i) : "\\u00" + (c < 16 ? "0" : "") + c.toString(16));
  }
  out.push(from ? s.substring(from) : s);
  out.push('"');
}

const maxDepth = 500;

class Reader {
  at: i32 = 0;
  failed: bool = false;

  constructor(private s: string) {}

  whole(): Value | null {
    const v = this.value(0);
    this.blank();
    return this.failed || this.at != this.s.length ? null : v;
  }

  /** The next code unit, or 0 at the end. */
  private peek(): i32 { return this.at < this.s.length ? this.s.charCodeAt(this.at) : 0; }

  private blank(): void {
    while (true) {
      const c = this.peek();
      if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return;
      this.at++;
    }
  }

  private fail(): Value {
    this.failed = true;
    return Value.none();
  }

  /** Takes a code unit if it is the next one after blanks. */
  private take(c: i32): bool {
    this.blank();
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  private value(depth: i32): Value {
    if (depth > maxDepth) return this.fail();
    this.blank();
    switch (this.peek()) {
      case 0x7b: return this.object(depth);
      case 0x5b: return this.array(depth);
      case 0x22: return Value.str(this.string());
      case 0x74: return this.word("true", Kind.True);
      case 0x66: return this.word("false", Kind.False);
      case 0x6e: return this.word("null", Kind.Null);
      default: return this.number();
    }
  }

  private word(text: string, kind: Kind): Value {
    if (!this.s.startsWith(text, this.at)) return this.fail();
    this.at += text.length;
    return new Value(kind);
  }

  private digits(): bool {
    const from = this.at;
    while (this.peek() >= 0x30 && this.peek() <= 0x39) this.at++;
    return this.at > from;
  }

  private number(): Value {
    const from = this.at;
    if (this.peek() == 0x2d) this.at++;
    let ok = this.digits();
    if (this.peek() == 0x2e) {
      this.at++;
      ok = this.digits() && ok;
    }
    if ((this.peek() | 32) == 0x65) {
      this.at++;
      if (this.peek() == 0x2b || this.peek() == 0x2d) this.at++;
      ok = this.digits() && ok;
    }
    return ok ? new Value(Kind.Number, this.s.substring(from, this.at)) : this.fail();
  }

  private array(depth: i32): Value {
    const v = Value.array();
    this.at++;
    if (this.take(0x5d)) return v;
    while (true) {
      v.add(this.value(depth + 1));
      if (this.failed) return v;
      if (this.take(0x5d)) return v;
      if (!this.take(0x2c)) return this.fail();
    }
  }

  private object(depth: i32): Value {
    const v = Value.object();
    this.at++;
    if (this.take(0x7d)) return v;
    while (true) {
      this.blank();
      if (this.peek() != 0x22) return this.fail();
      const key = this.string();
      if (this.failed || !this.take(0x3a)) return this.fail();
      v.set(key, this.value(depth + 1));
      if (this.failed) return v;
      if (this.take(0x7d)) return v;
      if (!this.take(0x2c)) return this.fail();
    }
  }

  private string(): string {
    const parts: string[] = [];
    let from = ++this.at;
    while (true) {
      if (this.at >= this.s.length) {
        this.failed = true;
        return "";
      }
      const c = this.s.charCodeAt(this.at);
      if (c == 0x22) break;
      this.at++;
      if (c != 0x5c) continue;
      parts.push(this.s.substring(from, this.at - 1));
      parts.push(this.escape());
      from = this.at;
    }
    const last = this.s.substring(from, this.at++);
    if (!parts.length) return last;
    parts.push(last);
    return parts.join("");
  }

  private escape(): string {
    const c = this.peek();
    this.at++;
    switch (c) {
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x22: case 0x5c: case 0x2f: return String.fromCharCode(c);
      case 0x75: return String.fromCharCode(this.hex());
    }
    this.failed = true;
    return "";
  }

  private hex(): i32 {
    let n = 0;
    for (let i = 0; i < 4; i++) {
      const c = this.peek() | 32;
      const digit = c >= 0x61 ? c - 0x61 + 10 : c - 0x30;
      if (digit < 0 || digit > 15 || this.at >= this.s.length) this.failed = true;
      n = n * 16 + (digit & 15);
      this.at++;
    }
    return n;
  }
}
