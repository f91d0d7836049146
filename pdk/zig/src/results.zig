//! The results of handlers as those of MCP.

const std = @import("std");
const content = @import("content.zig");
const json = @import("json.zig");
const types = @import("types.zig");
const Allocator = std.mem.Allocator;
const Call = @import("call.zig").Call;
const Contents = content.Contents;
const Content = content.Content;
const Message = content.Message;
const Value = json.Value;

/// Whether a type becomes structured content.
pub fn isStructured(comptime T: type) bool {
    return types.isObject(T) and T != Message;
}

fn isSlice(comptime T: type, comptime Of: type) bool {
    return @typeInfo(T) == .pointer and @typeInfo(T).pointer.size == .slice and @typeInfo(T).pointer.child == Of;
}

/// Returns a result of tools/call.
pub fn ofTool(arena: Allocator, v: anytype) []const u8 {
    const T = @TypeOf(v);
    if (T == void) return blocks(arena, &.{});
    if (T == Content) return blocks(arena, &.{v});
    if (comptime isSlice(T, Content)) return blocks(arena, v);
    if (comptime json.isText(T)) return blocks(arena, &.{.{ .text = v }});
    if (T == Value and v.find("content") != null) return json.stringify(arena, v);
    if (T != Value and comptime !isStructured(T)) @compileError("sallyport: a tool returns a text, a Content, a slice of Content, a struct or a Value, but got " ++ @typeName(T));
    const block: Content = .{ .text = json.stringify(arena, v) };
    if (T == Value and v != .object) return blocks(arena, &.{block});
    return json.stringify(arena, .{ .content = &[_]Content{block}, .structuredContent = v });
}

fn blocks(arena: Allocator, all: []const Content) []const u8 {
    return json.stringify(arena, .{ .content = all });
}

/// Returns a result of tools/call that failed.
pub fn ofFailure(arena: Allocator, message: []const u8) []const u8 {
    return json.stringify(arena, .{ .content = &[_]Content{.{ .text = message }}, .isError = true });
}

/// Returns the contents of a resource.
pub fn ofResource(c: *Call, v: anytype) []const Contents {
    const T = @TypeOf(v);
    if (comptime json.isText(T)) return c.list(Contents, &.{.{ .text = v }});
    if (T == Contents) return c.list(Contents, &.{v});
    if (comptime isSlice(T, Contents)) return v;
    @compileError("sallyport: a resource returns a text, a Contents or a slice of Contents, but got " ++ @typeName(T));
}

/// Returns a result of prompts/get.
pub fn ofPrompt(arena: Allocator, v: anytype) []const u8 {
    const T = @TypeOf(v);
    if (comptime json.isText(T)) return json.stringify(arena, .{ .messages = &[_]Message{content.user(v)} });
    if (comptime isSlice(T, Message)) return json.stringify(arena, .{ .messages = v });
    @compileError("sallyport: a prompt returns a text or a slice of Message, but got " ++ @typeName(T));
}
