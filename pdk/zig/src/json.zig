//! JSON: values of any shape, their reader, and the writer of native types.

const std = @import("std");
const Allocator = std.mem.Allocator;

/// A JSON value. A number keeps its digits.
pub const Value = union(enum) {
    null,
    bool: bool,
    number: []const u8,
    string: []const u8,
    array: []const Value,
    object: []const Member,

    pub const Member = struct { key: []const u8, value: Value };

    /// Returns a member of an object, or null.
    pub fn find(v: Value, key: []const u8) ?Value {
        if (v != .object) return null;
        var i = v.object.len; // of two members with one key the last counts
        while (i > 0) {
            i -= 1;
            if (std.mem.eql(u8, v.object[i].key, key)) return v.object[i].value;
        }
        return null;
    }

    /// Returns a member of an object, or the JSON null.
    pub fn get(v: Value, key: []const u8) Value {
        return v.find(key) orelse .null;
    }

    /// Returns the elements of an array, and none of another value.
    pub fn items(v: Value) []const Value {
        return if (v == .array) v.array else &.{};
    }

    /// Returns the text of a string, and "" of another value.
    pub fn text(v: Value) []const u8 {
        return if (v == .string) v.string else "";
    }

    /// Returns a number without a fraction, such as 7, 2.0 or 1e3, if the type can hold it.
    pub fn integer(v: Value, comptime T: type) ?T {
        if (v != .number) return null;
        if (std.fmt.parseInt(T, v.number, 10)) |n| return n else |_| {}
        const d = v.float() orelse return null;
        const whole = std.math.pow(f64, 2, 53); // beyond it not each integer is a float
        if (d != @trunc(d) or d > whole or d < -whole) return null;
        return std.math.cast(T, @as(i64, @intFromFloat(d)));
    }

    pub fn float(v: Value) ?f64 {
        return if (v == .number) std.fmt.parseFloat(f64, v.number) catch null else null;
    }

    /// Whether the value is true.
    pub fn isTrue(v: Value) bool {
        return v == .bool and v.bool;
    }

    /// Reads a JSON text. Its strings may point into it.
    pub fn parse(arena: Allocator, json: []const u8) error{ Invalid, OutOfMemory }!Value {
        var r: Reader = .{ .arena = arena, .json = json };
        const v = try r.value(0);
        r.blank();
        return if (r.at == json.len) v else error.Invalid;
    }

    pub fn writeJson(v: Value, w: *Writer) void {
        switch (v) {
            .null => w.raw("null"),
            .bool => |b| w.raw(if (b) "true" else "false"),
            .number => |digits| w.raw(digits),
            .string => |s| w.string(s),
            .array => |all| {
                w.open('[');
                for (all) |one| w.element(one);
                w.close(']');
            },
            .object => |all| {
                w.open('{');
                for (all) |m| w.member(m.key, m.value);
                w.close('}');
            },
        }
    }
};

const Reader = struct {
    arena: Allocator,
    json: []const u8,
    at: usize = 0,

    const Error = error{ Invalid, OutOfMemory };
    const max_depth = 500;

    fn peek(r: *Reader) u8 {
        return if (r.at < r.json.len) r.json[r.at] else 0;
    }

    fn blank(r: *Reader) void {
        while (true) switch (r.peek()) {
            ' ', '\t', '\r', '\n' => r.at += 1,
            else => return,
        };
    }

    /// Takes a byte if it is the next one after blanks.
    fn take(r: *Reader, c: u8) bool {
        r.blank();
        if (r.at == r.json.len or r.json[r.at] != c) return false;
        r.at += 1;
        return true;
    }

    fn need(r: *Reader, c: u8) Error!void {
        if (!r.take(c)) return error.Invalid;
    }

    fn value(r: *Reader, depth: usize) Error!Value {
        if (depth > max_depth) return error.Invalid;
        r.blank();
        return switch (r.peek()) {
            '{' => r.object(depth),
            '[' => r.array(depth),
            '"' => .{ .string = try r.string() },
            't' => r.word("true", .{ .bool = true }),
            'f' => r.word("false", .{ .bool = false }),
            'n' => r.word("null", .null),
            else => r.number(),
        };
    }

    fn word(r: *Reader, text: []const u8, v: Value) Error!Value {
        if (!std.mem.startsWith(u8, r.json[r.at..], text)) return error.Invalid;
        r.at += text.len;
        return v;
    }

    fn digits(r: *Reader) Error!void {
        const from = r.at;
        while (r.peek() >= '0' and r.peek() <= '9') r.at += 1;
        if (r.at == from) return error.Invalid;
    }

    fn number(r: *Reader) Error!Value {
        const from = r.at;
        if (r.peek() == '-') r.at += 1;
        try r.digits();
        if (r.peek() == '.') {
            r.at += 1;
            try r.digits();
        }
        if (r.peek() == 'e' or r.peek() == 'E') {
            r.at += 1;
            if (r.peek() == '-' or r.peek() == '+') r.at += 1;
            try r.digits();
        }
        return .{ .number = r.json[from..r.at] };
    }

    fn array(r: *Reader, depth: usize) Error!Value {
        var all: List(Value) = .{ .arena = r.arena };
        try r.need('[');
        if (r.take(']')) return .{ .array = &.{} };
        while (true) {
            try all.add(try r.value(depth + 1));
            if (r.take(']')) return .{ .array = all.slice() };
            try r.need(',');
        }
    }

    fn object(r: *Reader, depth: usize) Error!Value {
        var all: List(Value.Member) = .{ .arena = r.arena };
        try r.need('{');
        if (r.take('}')) return .{ .object = &.{} };
        while (true) {
            r.blank();
            const key = try r.string();
            try r.need(':');
            try all.add(.{ .key = key, .value = try r.value(depth + 1) });
            if (r.take('}')) return .{ .object = all.slice() };
            try r.need(',');
        }
    }

    fn string(r: *Reader) Error![]const u8 {
        if (r.peek() != '"') return error.Invalid;
        r.at += 1;
        const from = r.at;
        while (r.at < r.json.len and r.json[r.at] != '"' and r.json[r.at] != '\\') r.at += 1;
        if (r.peek() == '"') { // without an escape
            r.at += 1;
            return r.json[from .. r.at - 1];
        }
        var end = r.at;
        while (end < r.json.len and r.json[end] != '"') end += if (r.json[end] == '\\') 2 else 1;
        if (end >= r.json.len) return error.Invalid;
        const out = try r.arena.alloc(u8, end - from); // an escape is longer than its character
        @memcpy(out[0 .. r.at - from], r.json[from..r.at]);
        return r.unescape(out, r.at - from, end);
    }

    fn unescape(r: *Reader, out: []u8, filled: usize, end: usize) Error![]const u8 {
        var n = filled;
        while (r.at < end) {
            const c = r.json[r.at];
            r.at += 1;
            if (c != '\\') {
                out[n] = c;
                n += 1;
                continue;
            }
            n += try r.escape(out[n..], end);
        }
        r.at = end + 1;
        return out[0..n];
    }

    /// Writes the character of an escape, behind its backslash, and returns its size.
    fn escape(r: *Reader, out: []u8, end: usize) Error!usize {
        const c = r.json[r.at];
        r.at += 1;
        out[0] = switch (c) {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => 8,
            'f' => 12,
            '"', '\\', '/' => c,
            'u' => return std.unicode.utf8Encode(try r.unicode(end), out) catch unreachable,
            else => return error.Invalid,
        };
        return 1;
    }

    fn hex(r: *Reader, end: usize) Error!u16 {
        if (end - r.at < 4) return error.Invalid;
        r.at += 4;
        return std.fmt.parseInt(u16, r.json[r.at - 4 .. r.at], 16) catch error.Invalid;
    }

    /// Reads a character behind \u. Half of a pair that is alone becomes U+FFFD.
    fn unicode(r: *Reader, end: usize) Error!u21 {
        const one = try r.hex(end);
        if (one < 0xd800 or one >= 0xe000) return one;
        const back = r.at;
        if (one < 0xdc00 and std.mem.startsWith(u8, r.json[r.at..end], "\\u")) {
            r.at += 2;
            const two = try r.hex(end);
            if (two >= 0xdc00 and two < 0xe000) return 0x10000 + (@as(u21, one - 0xd800) << 10) + (two - 0xdc00);
        }
        r.at = back;
        return 0xfffd;
    }
};

/// A list that grows in an arena.
pub fn List(comptime T: type) type {
    return struct {
        arena: Allocator,
        room: []T = &.{},
        len: usize = 0,

        const Self = @This();

        pub fn add(l: *Self, one: T) error{OutOfMemory}!void {
            (try l.more(1))[0] = one;
        }

        /// Adds elements that are not set yet.
        pub fn more(l: *Self, n: usize) error{OutOfMemory}![]T {
            try l.reserve(n);
            l.len += n;
            return l.room[l.len - n .. l.len];
        }

        /// Makes room for further elements.
        pub fn reserve(l: *Self, n: usize) error{OutOfMemory}!void {
            if (l.room.len - l.len < n) l.room = try l.arena.realloc(l.room, (l.len + n) * 2);
        }

        pub fn slice(l: *Self) []T {
            return l.room[0..l.len];
        }
    };
}

/// Writes JSON, and separates elements and members by commas. Without memory it traps.
pub const Writer = struct {
    out: List(u8),
    first: bool = true, // of the elements of the list that was opened last

    pub fn init(arena: Allocator) Writer {
        return .{ .out = .{ .arena = arena } };
    }

    pub fn raw(w: *Writer, s: []const u8) void {
        @memcpy(w.out.more(s.len) catch @panic("out of memory"), s);
    }

    pub fn open(w: *Writer, bracket: u8) void {
        w.raw(&.{bracket});
        w.first = true;
    }

    pub fn close(w: *Writer, bracket: u8) void {
        w.raw(&.{bracket});
        w.first = false;
    }

    pub fn comma(w: *Writer) void {
        if (!w.first) w.raw(",");
        w.first = false;
    }

    /// Begins a member; its value has to follow.
    pub fn name(w: *Writer, s: []const u8) void {
        w.comma();
        w.string(s);
        w.raw(":");
    }

    pub fn element(w: *Writer, v: anytype) void {
        w.comma();
        w.write(v);
    }

    /// Writes a member of an object, but none for an optional without a value.
    pub fn member(w: *Writer, key: []const u8, v: anytype) void {
        switch (@typeInfo(@TypeOf(v))) {
            .null => {},
            .optional => if (v) |there| w.member(key, there),
            else => {
                w.name(key);
                w.write(v);
            },
        }
    }

    pub fn string(w: *Writer, s: []const u8) void {
        w.raw("\"");
        var from: usize = 0;
        for (s, 0..) |c, i| {
            if (c >= 32 and c != '"' and c != '\\') continue;
            w.raw(s[from..i]);
            from = i + 1;
            if (c >= 32) w.raw(&.{ '\\', c }) else w.raw(&.{ '\\', 'u', '0', '0', '0' + (c >> 4), "0123456789abcdef"[c & 15] });
        }
        w.raw(s[from..]);
        w.raw("\"");
    }

    /// Writes bytes as a string of base64.
    pub fn base64(w: *Writer, bytes: []const u8) void {
        const encoder = std.base64.standard.Encoder;
        w.raw("\"");
        _ = encoder.encode(w.out.more(encoder.calcSize(bytes.len)) catch @panic("out of memory"), bytes);
        w.raw("\"");
    }

    fn print(w: *Writer, comptime form: []const u8, v: anytype) void {
        var buffer: [512]u8 = undefined;
        w.raw(std.fmt.bufPrint(&buffer, form, .{v}) catch unreachable);
    }

    /// Infinity and NaN, which JSON lacks, are null.
    fn float(w: *Writer, d: f64) void {
        if (d - d != 0) return w.raw("null");
        if (d != 0 and (@abs(d) >= 1e21 or @abs(d) < 1e-6)) return w.print("{e}", d);
        w.print("{d}", d);
    }

    /// Writes a native value: a slice of bytes is text, a struct an object, an enum its name. Types with the function
    /// writeJson write themselves.
    pub fn write(w: *Writer, v: anytype) void {
        const T = @TypeOf(v);
        switch (@typeInfo(T)) {
            .null => w.raw("null"),
            .bool => w.raw(if (v) "true" else "false"),
            .int, .comptime_int => w.print("{d}", v),
            .float, .comptime_float => w.float(v),
            .@"enum", .enum_literal => w.string(@tagName(v)),
            .optional => if (v) |there| w.write(there) else w.raw("null"),
            .array => w.write(@as([]const @typeInfo(T).array.child, &v)),
            .pointer => |p| if (comptime isText(T)) w.string(v) else if (p.size == .one) w.write(v.*) else {
                w.open('[');
                for (v) |one| w.element(one);
                w.close(']');
            },
            .@"struct", .@"union" => if (comptime @hasDecl(T, "writeJson")) v.writeJson(w) else w.structure(v),
            else => @compileError("sallyport: a " ++ @typeName(T) ++ " cannot be written as JSON"),
        }
    }

    fn structure(w: *Writer, v: anytype) void {
        const T = @TypeOf(v);
        if (@typeInfo(T) != .@"struct") @compileError("sallyport: a " ++ @typeName(T) ++ " cannot be written as JSON");
        const tuple = comptime @typeInfo(T).@"struct".is_tuple and std.meta.fieldNames(T).len > 0;
        w.open(if (tuple) '[' else '{');
        inline for (comptime std.meta.fieldNames(T)) |key| {
            if (tuple) w.element(@field(v, key)) else w.member(key, @field(v, key));
        }
        w.close(if (tuple) ']' else '}');
    }
};

/// Returns the JSON text of a native value.
pub fn stringify(arena: Allocator, v: anytype) []const u8 {
    var w: Writer = .init(arena);
    w.write(v);
    return w.out.slice();
}

/// Whether a type is a text: a slice of bytes, or a literal.
pub fn isText(comptime T: type) bool {
    if (@typeInfo(T) != .pointer) return false;
    const p = @typeInfo(T).pointer;
    if (p.size == .slice) return p.child == u8;
    return p.size == .one and @typeInfo(p.child) == .array and @typeInfo(p.child).array.child == u8;
}
