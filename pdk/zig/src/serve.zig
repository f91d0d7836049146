//! The way of a request through a plugin.

const std = @import("std");
const content = @import("content.zig");
const entry = @import("entry.zig");
const host = @import("host.zig");
const json = @import("json.zig");
const results = @import("results.zig");
const Call = @import("call.zig").Call;
const Failure = @import("call.zig").Failure;
const Typed = @import("call.zig").Typed;
const Value = json.Value;

pub const Plugin = struct {
    name: []const u8,
    version: []const u8,
    description: ?[]const u8 = null,
    tools: []const entry.Tool = &.{},
    resources: []const entry.Resource = &.{},
    prompts: []const entry.Prompt = &.{},
    wants: []const entry.Want = &.{},

    pub fn of(name: []const u8, version: []const u8, items: anytype) Plugin {
        var p: Plugin = .{ .name = name, .version = version };
        for (std.meta.fieldNames(@TypeOf(items))) |i| {
            const item = @field(items, i);
            switch (@TypeOf(item)) {
                entry.Tool => p.tools = p.tools ++ &[_]entry.Tool{item},
                entry.Resource => p.resources = p.resources ++ &[_]entry.Resource{item},
                entry.Prompt => p.prompts = p.prompts ++ &[_]entry.Prompt{item},
                entry.Want => p.wants = p.wants ++ &[_]entry.Want{item},
                entry.Description => p.description = item.text,
                else => |T| @compileError("sallyport: a plugin has tools, resources, prompts, wants and a description, but got " ++ @typeName(T)),
            }
        }
        return p;
    }

    /// Returns the JSON of a request's result.
    pub fn respond(p: Plugin, c: *Call, method: []const u8) anyerror![]const u8 {
        const methods = .{
            .{ "plugin/describe", describe },
            .{ "tools/call", callTool },
            .{ "resources/read", readResource },
            .{ "prompts/get", getPrompt },
            .{ "completion/complete", complete },
        };
        inline for (methods) |m| if (std.mem.eql(u8, method, m[0])) return m[1](p, c);
        return c.failMcp(-32601, c.format("method not found: {s}", .{method}), .null);
    }

    fn describe(p: Plugin, c: *Call) anyerror![]const u8 {
        var w: json.Writer = .init(c.arena);
        w.open('{');
        w.member("name", p.name);
        w.member("version", p.version);
        w.member("description", p.description);
        writeEntries(&w, "tools", p.tools, null);
        writeEntries(&w, "resources", p.resources, false);
        writeEntries(&w, "resourceTemplates", p.resources, true);
        writeEntries(&w, "prompts", p.prompts, null);
        writeEntries(&w, "wants", p.wants, null);
        w.close('}');
        return w.out.slice();
    }

    fn callTool(p: Plugin, c: *Call) anyerror![]const u8 {
        const name = c.params.get("name").text();
        for (p.tools) |t| {
            if (!std.mem.eql(u8, t.name, name)) continue;
            return t.call(c, c.params.find("arguments") orelse .{ .object = &.{} }) catch |e| {
                const f = failureOf(c, e);
                return if (f.code != 0) e else results.ofFailure(c.arena, f.message);
            };
        }
        return c.failMcp(-32602, c.format("unknown tool: {s}", .{name}), .null);
    }

    fn readResource(p: Plugin, c: *Call) anyerror![]const u8 {
        const uri = c.params.get("uri").text();
        for (p.resources) |r| {
            if (!r.isTemplate() and std.mem.eql(u8, r.uri, uri)) return read(c, r, .{ .object = &.{} });
        }
        for (p.resources) |r| {
            if (!r.isTemplate()) continue;
            if (fit(c.arena, r.uri, uri)) |vars| return read(c, r, .{ .object = vars });
        }
        return error.NotFound;
    }

    fn getPrompt(p: Plugin, c: *Call) anyerror![]const u8 {
        const name = c.params.get("name").text();
        for (p.prompts) |q| {
            if (std.mem.eql(u8, q.name, name)) return q.get(c, c.params.find("arguments") orelse .{ .object = &.{} });
        }
        return c.failMcp(-32602, c.format("unknown prompt: {s}", .{name}), .null);
    }

    fn complete(p: Plugin, c: *Call) anyerror![]const u8 {
        const argument = c.params.get("argument");
        const ref = c.params.get("ref");
        const typed: Typed = .{
            .text = argument.get("value").text(),
            .argument = argument.get("name").text(),
            .of = (ref.find("name") orelse ref.get("uri")).text(),
            .chosen = c.params.get("context").get("arguments"),
        };
        var values: []const []const u8 = &.{};
        for (p.completionsOf(ref)) |one| {
            if (std.mem.eql(u8, one.argument, typed.argument)) values = try one.suggest(c, typed);
        }
        const more: ?bool = if (values.len > 100) true else null;
        return json.stringify(c.arena, .{ .completion = .{ .values = values[0..@min(values.len, 100)], .total = values.len, .hasMore = more } });
    }

    fn completionsOf(p: Plugin, ref: Value) []const entry.Completion {
        for (p.prompts) |q| if (std.mem.eql(u8, q.name, ref.get("name").text())) return q.completions;
        for (p.resources) |r| if (std.mem.eql(u8, r.uri, ref.get("uri").text())) return r.completions;
        return &.{};
    }
};

/// Writes a list of entries, of resources only those that are templates, or only the others.
fn writeEntries(w: *json.Writer, key: []const u8, all: anytype, templates: ?bool) void {
    w.name(key);
    w.open('[');
    for (all) |one| {
        if (templates) |wanted| {
            if (@hasDecl(@TypeOf(one), "isTemplate") and one.isTemplate() != wanted) continue;
        }
        w.comma();
        w.open('{');
        one.members(w);
        w.close('}');
    }
    w.close(']');
}

fn read(c: *Call, r: entry.Resource, vars: Value) anyerror![]const u8 {
    const all = try c.arena.dupe(content.Contents, try r.read(c, vars));
    for (all) |*one| {
        if (one.uri == null) one.uri = c.params.get("uri").text();
        if (one.mime_type == null) one.mime_type = r.mime_type;
    }
    return json.stringify(c.arena, .{ .contents = @as([]const content.Contents, all) });
}

/// Returns the variables of a template in a URI, if it fits.
pub fn fit(arena: std.mem.Allocator, template: []const u8, uri: []const u8) ?[]const Value.Member {
    var vars: json.List(Value.Member) = .{ .arena = arena };
    var t: usize = 0;
    var u: usize = 0;
    while (t < template.len) {
        if (template[t] != '{') {
            if (u == uri.len or uri[u] != template[t]) return null;
            t += 1;
            u += 1;
            continue;
        }
        const end = t + (std.mem.indexOfScalar(u8, template[t..], '}') orelse return null);
        const all = template[t + 1] == '+';
        const name = template[t + 1 + @intFromBool(all) .. end];
        t = end + 1;
        const from = u;
        while (u < uri.len and !(t < template.len and uri[u] == template[t])) : (u += 1) {
            if (!all and (uri[u] == '/' or uri[u] == '?' or uri[u] == '#')) break;
        }
        if (u == from) return null;
        vars.add(.{ .key = name, .value = .{ .string = unescape(arena, uri[from..u]) } }) catch return null;
    }
    return if (u == uri.len) vars.slice() else null;
}

/// Decodes %XX.
fn unescape(arena: std.mem.Allocator, s: []const u8) []const u8 {
    var out: json.List(u8) = .{ .arena = arena };
    var i: usize = 0;
    while (i < s.len) : (i += 1) {
        var c = s[i];
        if (c == '%' and i + 2 < s.len) {
            if (std.fmt.parseInt(u8, s[i + 1 .. i + 3], 16)) |byte| {
                c = byte;
                i += 2;
            } else |_| {}
        }
        out.add(c) catch @panic("out of memory");
    }
    return out.slice();
}

/// Returns what the answer says of an error.
fn failureOf(c: *Call, err: anyerror) Failure {
    if (c.failure) |f| if (f.err == err) return f;
    return .{ .err = err, .message = @errorName(err) };
}

fn writeError(w: *json.Writer, c: *Call, err: anyerror) void {
    var f = failureOf(c, err);
    if (err == error.NotFound) f = .{ .err = err, .message = "resource not found", .code = -32602, .data = .{ .object = &.{.{ .key = "uri", .value = c.params.get("uri") }} } };
    const data: ?Value = if (f.data == .null) null else f.data;
    w.member("error", .{ .code = if (f.code == 0) -32603 else f.code, .message = f.message, .data = data });
}

var memory = std.heap.ArenaAllocator.init(std.heap.page_allocator);

/// Serves the request of the host, and returns the number of an error, or 0.
pub fn serve(comptime p: Plugin) i32 {
    _ = memory.reset(.free_all);
    var c: Call = .{ .arena = memory.allocator() };
    var w: json.Writer = .init(c.arena);
    w.open('{');
    if (answer(p, &c)) |result| {
        w.name("result");
        w.raw(result);
    } else |e| writeError(&w, &c, e);
    w.close('}');
    return if (host.writeAll(1, w.out.slice())) 0 else 29;
}

fn answer(comptime p: Plugin, c: *Call) anyerror![]const u8 {
    const request = Value.parse(c.arena, host.readAll(c.arena, 0)) catch return c.failMcp(-32602, "the request is not JSON", .null);
    c.params = request.get("params");
    return p.respond(c, request.get("method").text());
}

pub const panic = std.debug.FullPanic(struct {
    fn panic(message: []const u8, _: ?usize) noreturn {
        var buffer: [2048]u8 = undefined;
        var fixed = std.heap.FixedBufferAllocator.init(&buffer);
        var c: Call = .{ .arena = fixed.allocator() };
        c.log(.@"error", message);
        @trap();
    }
}.panic);
