//! Native types as JSON: their schemas, defaults and decoding.
//!
//! A field with a default may be absent, and so may an optional one. A struct may have a declaration `about`, with a
//! description or members of the JSON Schema for each field:
//!
//!     const Line = struct {
//!         item: enum { espresso, filter },
//!         count: i64 = 1,
//!         pub const about = .{ .item = "what to brew", .count = .{ .minimum = 1 } };
//!     };

const std = @import("std");
const json = @import("json.zig");
const Value = json.Value;
const Writer = json.Writer;

/// Whether a type is written as an object with a schema of its own.
pub fn isObject(comptime T: type) bool {
    return @typeInfo(T) == .@"struct" and T != Value and !@hasDecl(T, "writeJson");
}

/// Returns the default of a field, or null.
pub fn defaultOf(comptime T: type, comptime field: []const u8) ?@FieldType(T, field) {
    const info = @typeInfo(T).@"struct";
    if (@hasField(@TypeOf(info), "fields")) { // before Zig 0.17
        inline for (info.fields) |f| if (comptime std.mem.eql(u8, f.name, field)) return f.defaultValue();
    } else {
        inline for (info.field_names, info.field_attrs) |name, attrs| {
            if (comptime std.mem.eql(u8, name, field)) return attrs.defaultValue(@FieldType(T, field));
        }
    }
    unreachable;
}

/// Whether a field has to be there.
pub fn isRequired(comptime T: type, comptime field: []const u8) bool {
    return @typeInfo(@FieldType(T, field)) != .optional and defaultOf(T, field) == null;
}

/// Writes the JSON Schema of a struct. The objects of a closed one refuse unknown members.
pub fn writeSchema(w: *Writer, comptime T: type, comptime closed: bool) void {
    if (comptime !isObject(T)) @compileError("sallyport: got " ++ @typeName(T) ++ ", want a struct");
    w.open('{');
    writeType(w, T, closed);
    w.close('}');
}

/// Writes the members of a type's schema, without those of the field that has it.
fn writeType(w: *Writer, comptime T: type, comptime closed: bool) void {
    if (T == Value) return;
    if (comptime json.isText(T)) return w.member("type", "string");
    switch (@typeInfo(T)) {
        .bool => w.member("type", "boolean"),
        .int => |int| {
            w.member("type", "integer");
            if (int.signedness == .unsigned) w.member("minimum", 0);
        },
        .float => w.member("type", "number"),
        .@"enum" => {
            w.member("type", "string");
            w.member("enum", std.meta.fieldNames(T));
        },
        .optional => |o| writeType(w, o.child, closed),
        .pointer => |p| if (p.size == .slice) writeItems(w, p.child, closed) else unfit(T),
        .@"struct" => writeObject(w, T, closed),
        else => unfit(T),
    }
}

fn unfit(comptime T: type) noreturn {
    @compileError("sallyport: " ++ @typeName(T) ++ " has no JSON Schema: use a struct, a slice, an enum, an integer, a float, a bool, or sallyport.Value for any JSON");
}

fn writeItems(w: *Writer, comptime T: type, comptime closed: bool) void {
    w.member("type", "array");
    w.name("items");
    w.open('{');
    writeType(w, T, closed);
    w.close('}');
}

fn writeObject(w: *Writer, comptime T: type, comptime closed: bool) void {
    comptime checkAbout(T);
    w.member("type", "object");
    w.name("properties");
    w.open('{');
    inline for (comptime std.meta.fieldNames(T)) |field| {
        w.name(field);
        w.open('{');
        writeType(w, @FieldType(T, field), closed);
        if (comptime defaultOf(T, field)) |v| w.member("default", v);
        writeAbout(w, T, field);
        w.close('}');
    }
    w.close('}');
    const required = comptime requiredOf(T);
    if (required.len > 0) w.member("required", required);
    if (closed) w.member("additionalProperties", false);
}

fn requiredOf(comptime T: type) []const []const u8 {
    var names: []const []const u8 = &.{};
    for (std.meta.fieldNames(T)) |field| {
        if (isRequired(T, field)) names = names ++ &[_][]const u8{field};
    }
    return names;
}

/// A description, or members of the schema.
fn writeAbout(w: *Writer, comptime T: type, comptime field: []const u8) void {
    if (!@hasDecl(T, "about") or !@hasField(@TypeOf(T.about), field)) return;
    const about = @field(T.about, field);
    if (comptime json.isText(@TypeOf(about))) return w.member("description", about);
    inline for (comptime std.meta.fieldNames(@TypeOf(about))) |key| w.member(key, @field(about, key));
}

fn checkAbout(comptime T: type) void {
    if (!@hasDecl(T, "about")) return;
    for (std.meta.fieldNames(@TypeOf(T.about))) |name| {
        if (!@hasField(T, name)) @compileError("sallyport: about." ++ name ++ " of " ++ @typeName(T) ++ " describes no field");
    }
}

/// Returns the description of a field, or null.
pub fn descriptionOf(comptime T: type, comptime field: []const u8) ?[]const u8 {
    if (!@hasDecl(T, "about") or !@hasField(@TypeOf(T.about), field)) return null;
    const about = @field(T.about, field);
    if (json.isText(@TypeOf(about))) return about;
    return if (@hasField(@TypeOf(about), "description")) about.description else null;
}

/// Decodes values into native types.
pub const Decoder = struct {
    arena: std.mem.Allocator,
    place: []const u8 = "", // of the member that does not fit, such as ".lines[0].count"
    problem: []const u8 = "",

    pub const Error = error{ Misfit, OutOfMemory };

    pub fn read(d: *Decoder, comptime T: type, v: Value) Error!T {
        if (T == Value) return v;
        if (comptime json.isText(T)) return if (v == .string) v.string else d.misfit(v);
        switch (@typeInfo(T)) {
            .bool => return if (v == .bool) v.bool else d.misfit(v),
            .int => return v.integer(T) orelse d.misfit(v),
            .float => return if (v.float()) |f| @floatCast(f) else d.misfit(v),
            .@"enum" => return std.meta.stringToEnum(T, v.text()) orelse d.misfit(v),
            .optional => |o| return if (v == .null) null else try d.read(o.child, v),
            .pointer => |p| return d.list(p.child, v),
            .@"struct" => return d.object(T, v),
            else => unfit(T),
        }
    }

    fn misfit(d: *Decoder, v: Value) Error {
        d.problem = switch (v) {
            .null => " cannot be null",
            .bool => " cannot be a JSON bool",
            .number => " cannot be this JSON number",
            .string => " cannot be this JSON string",
            .array => " cannot be a JSON array",
            .object => " cannot be a JSON object",
        };
        return error.Misfit;
    }

    fn list(d: *Decoder, comptime T: type, v: Value) Error![]const T {
        if (v != .array) return d.misfit(v);
        const all = try d.arena.alloc(T, v.array.len);
        for (all, v.array, 0..) |*to, from, i| {
            to.* = d.read(T, from) catch |e| {
                d.place = try std.fmt.allocPrint(d.arena, "[{d}]{s}", .{ i, d.place });
                return e;
            };
        }
        return all;
    }

    fn object(d: *Decoder, comptime T: type, v: Value) Error!T {
        if (v != .object) return d.misfit(v);
        var all: T = undefined;
        inline for (comptime std.meta.fieldNames(T)) |field| {
            @field(all, field) = d.member(T, field, v.find(field)) catch |e| {
                d.place = try std.fmt.allocPrint(d.arena, ".{s}{s}", .{ field, d.place });
                return e;
            };
        }
        return all;
    }

    fn member(d: *Decoder, comptime T: type, comptime field: []const u8, v: ?Value) Error!@FieldType(T, field) {
        const F = @FieldType(T, field);
        if (v) |there| return d.read(F, there);
        if (comptime defaultOf(T, field)) |default| return default;
        if (@typeInfo(F) == .optional) return null;
        d.problem = " is missing";
        return error.Misfit;
    }
};
