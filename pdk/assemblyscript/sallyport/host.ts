/** The imports of a module. */

import { Value } from "./json";

// @ts-ignore: decorator
@external("sallyport", "read") declare function read(stream: i32, p: usize, size: i32): i32;
// @ts-ignore: decorator
@external("sallyport", "write") declare function write(stream: i32, p: usize, size: i32): i32;
// @ts-ignore: decorator
@external("sallyport", "call") declare function call(p: usize, size: i32): i64;
// @ts-ignore: decorator
@external("sallyport", "close") declare function closeStream(stream: i32): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "environ_sizes_get") declare function environSizes(count: usize, size: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "environ_get") declare function environ(entries: usize, text: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "random_get") declare function randomBytes(p: usize, size: i32): i32;

export function encode(s: string): ArrayBuffer { return String.UTF8.encode(s, false, String.UTF8.ErrorMode.REPLACE); }

export function decode(bytes: Uint8Array): string { return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length); }

export function close(stream: i32): void { closeStream(stream); }

/** Reads a stream to its end. */
export function readAll(stream: i32): Uint8Array {
  let all = new ArrayBuffer(16384);
  let size = 0;
  while (true) {
    if (all.byteLength - size < 4096) {
      const bigger = new ArrayBuffer(all.byteLength * 2);
      memory.copy(changetype<usize>(bigger), changetype<usize>(all), size);
      all = bigger;
    }
    const n = read(stream, changetype<usize>(all) + size, all.byteLength - size);
    if (n <= 0) return Uint8Array.wrap(all, 0, size);
    size += n;
  }
}

export function writeAll(stream: i32, p: usize, size: i32): bool {
  for (let at = 0; at < size;) {
    const n = write(stream, p + at, size - at);
    if (n <= 0) return false;
    at += n;
  }
  return true;
}

/** Makes a request, and returns the stream of the answer in the upper half, or a negative error number. */
export function ask(request: Value): i64 {
  const text = encode(request.toString());
  return call(changetype<usize>(text), text.byteLength);
}

/** Returns an environment variable, or null. */
export function environment(key: string): string | null {
  const sizes = new StaticArray<u32>(2);
  const at = changetype<usize>(sizes);
  if (environSizes(at, at + 4) || !sizes[0]) return null;
  const entries = new ArrayBuffer(sizes[0] * 4);
  const text = new Uint8Array(sizes[1]);
  if (environ(changetype<usize>(entries), text.dataStart)) return null;
  const all = decode(text).split("\0");
  for (let i = 0; i < all.length; i++) if (all[i].startsWith(key + "=")) return all[i].substring(key.length + 1);
  return null;
}

/** Fills memory with random numbers that are fit for keys. */
export function random(into: Uint8Array): void {
  if (randomBytes(into.dataStart, into.length)) unreachable();
}

/** The seed of Math.random. */
export function seed(): f64 {
  const bytes = new StaticArray<u64>(1);
  if (randomBytes(changetype<usize>(bytes), 8)) unreachable();
  return reinterpret<f64>(bytes[0] >> 2);
}

/** Logs the message of an error that was thrown, or of a failed check of the language; the call ends. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = (message === null ? "abort" : message) + " (" + (file === null ? "" : file) + ":" + line.toString() + ":" + column.toString() + ")";
  const params = Value.object().set("level", Value.str("error")).set("data", Value.str(text));
  ask(Value.object().set("method", Value.str("notifications/message")).set("params", params));
  unreachable();
}
