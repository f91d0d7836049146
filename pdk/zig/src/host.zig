//! The imports of a module. Outside of one, in a native test, there is no host and each request is refused.

const std = @import("std");
const Allocator = std.mem.Allocator;

const import = if (@import("builtin").cpu.arch.isWasm()) struct {
    extern "sallyport" fn read(stream: u32, p: [*]u8, size: usize) i32;
    extern "sallyport" fn write(stream: u32, p: [*]const u8, size: usize) i32;
    extern "sallyport" fn call(p: [*]const u8, size: usize) i64;
    extern "sallyport" fn close(stream: u32) i32;
    extern "wasi_snapshot_preview1" fn environ_sizes_get(count: *usize, size: *usize) i32;
    extern "wasi_snapshot_preview1" fn environ_get(entries: [*]usize, text: [*]u8) i32;
    extern "wasi_snapshot_preview1" fn random_get(p: [*]u8, size: usize) i32;
} else struct {
    fn read(_: u32, _: [*]u8, _: usize) i32 {
        return 0;
    }
    fn write(_: u32, _: [*]const u8, _: usize) i32 {
        return -52;
    }
    fn call(_: [*]const u8, _: usize) i64 {
        return -52;
    }
    fn close(_: u32) i32 {
        return 0;
    }
    fn environ_sizes_get(_: *usize, _: *usize) i32 {
        return 52;
    }
    fn environ_get(_: [*]usize, _: [*]u8) i32 {
        return 52;
    }
    fn random_get(_: [*]u8, _: usize) i32 {
        return 52;
    }
};

/// Makes a request, and returns the stream of the answer in the upper half, or a negative error number.
pub fn call(request: []const u8) i64 {
    return import.call(request.ptr, request.len);
}

pub fn close(stream: u32) void {
    _ = import.close(stream);
}

/// Reads a stream to its end.
pub fn readAll(arena: Allocator, stream: u32) []const u8 {
    var all: @import("json.zig").List(u8) = .{ .arena = arena };
    while (true) {
        all.reserve(4096) catch @panic("out of memory");
        const free = all.room[all.len..];
        const n = import.read(stream, free.ptr, free.len);
        if (n <= 0) return all.slice();
        all.len += @intCast(n);
    }
}

/// Reads a stream to its end, and closes it.
pub fn drain(arena: Allocator, stream: u32) []const u8 {
    defer close(stream);
    return readAll(arena, stream);
}

pub fn writeAll(stream: u32, bytes: []const u8) bool {
    var rest = bytes;
    while (rest.len > 0) {
        const n = import.write(stream, rest.ptr, rest.len);
        if (n <= 0) return false;
        rest = rest[@intCast(n)..];
    }
    return true;
}

/// Returns an environment variable.
pub fn environment(arena: Allocator, key: []const u8) ?[]const u8 {
    var count: usize = 0;
    var size: usize = 0;
    if (import.environ_sizes_get(&count, &size) != 0 or count == 0) return null;
    const entries = arena.alloc(usize, count) catch return null;
    const text = arena.alloc(u8, size) catch return null;
    if (import.environ_get(entries.ptr, text.ptr) != 0) return null;
    var all = std.mem.splitScalar(u8, text, 0);
    while (all.next()) |entry| {
        if (entry.len > key.len and entry[key.len] == '=' and std.mem.startsWith(u8, entry, key)) return entry[key.len + 1 ..];
    }
    return null;
}

pub fn random(into: []u8) bool {
    return import.random_get(into.ptr, into.len) == 0;
}
