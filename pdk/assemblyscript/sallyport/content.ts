/** Content, and the contents of resources. */

import { Role, Value } from "./json";

function marked(v: Value, role: Role): Value {
  v.role = role;
  return v;
}

function block(type: string): Value { return marked(Value.object().set("type", Value.str(type)), Role.Block); }

export function text(s: string): Value { return block("text").set("text", Value.str(s)); }
export function image(data: Uint8Array, mimeType: string): Value { return media("image", data, mimeType); }
export function audio(data: Uint8Array, mimeType: string): Value { return media("audio", data, mimeType); }
/** A reference to a resource. */
export function link(uri: string, name: string): Value { return block("resource_link").set("uri", Value.str(uri)).set("name", Value.str(name)); }
/** The contents of a resource as a block. */
export function embed(contents: Value): Value { return block("resource").set("resource", contents); }

function media(type: string, data: Uint8Array, mimeType: string): Value {
  return block(type).set("data", Value.str(base64(data))).set("mimeType", Value.str(mimeType));
}

/** A text of a resource. As the result of a resource, URI and media type may be left out. */
export function contents(s: string, uri: string = "", mimeType: string = ""): Value { return about(uri, mimeType).set("text", Value.str(s)); }
/** Bytes of a resource. */
export function blob(data: Uint8Array, uri: string = "", mimeType: string = ""): Value { return about(uri, mimeType).set("blob", Value.str(base64(data))); }

function about(uri: string, mimeType: string): Value {
  return marked(Value.object().set("uri", uri.length ? Value.str(uri) : null).set("mimeType", mimeType.length ? Value.str(mimeType) : null), Role.Contents);
}

/** Messages of a prompt. */
export function user(content: Value): Value { return message("user", content); }
export function assistant(content: Value): Value { return message("assistant", content); }

function message(role: string, content: Value): Value { return marked(Value.object().set("role", Value.str(role)).set("content", content), Role.Message); }

/** Bytes of a list. */
export function bytes(list: u8[]): Uint8Array {
  const all = new Uint8Array(list.length);
  for (let i = 0; i < list.length; i++) all[i] = list[i];
  return all;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(data: Uint8Array): string {
  const out = new ArrayBuffer((data.length + 2) / 3 * 4);
  const to = changetype<usize>(out);
  for (let i = 0, at = 0; i < data.length; i += 3, at += 4) {
    const left = data.length - i;
    const n = (<u32>data[i] << 16) | (left > 1 ? <u32>data[i + 1] << 8 : 0) | (left > 2 ? <u32>data[i + 2] : 0);
    for (let j = 0; j < 4; j++) {
      store<u8>(to + at + j, j > left ? 0x3d : digits.charCodeAt((n >> (18 - 6 * j)) & 63));
    }
  }
  return String.UTF8.decode(out);
}
