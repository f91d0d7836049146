//! A call: the request that is served, its memory, and its requests to the host, which each need a grant.

const std = @import("std");
const host = @import("host.zig");
const json = @import("json.zig");
const types = @import("types.zig");
const Value = json.Value;
const Writer = json.Writer;

/// Refusals of the host. The field `failure` of the call then has the message and the line that would allow the request.
pub const Refusal = error{ Denied, Invalid, Unsupported, Unavailable, Timeout, Limit, Conflict };

/// Errors of a call: refusals, a tool's own failure, and MCP errors. A handler may return any other error too, whose name
/// is then the message.
pub const Error = Refusal || error{ Failed, Mcp, NotFound, OutOfMemory };

/// What an error does not hold: its message, and more of a refusal or of an MCP error.
pub const Failure = struct {
    err: anyerror,
    message: []const u8,
    hint: []const u8 = "",
    code: i64 = 0,
    data: Value = .null,
};

/// A response of any status.
pub const Response = struct { status: u16, url: []const u8, headers: Value, body: []const u8 };

/// A request to the web.
pub const Request = struct {
    method: []const u8 = "GET",
    headers: []const [2][]const u8 = &.{},
    body: ?[]const u8 = null,
};

/// The answer of the client's model, or of a tool: its texts, and all of it.
pub const Answer = struct { text: []const u8, value: Value };

/// A folder or file that the client works in.
pub const Root = struct { uri: []const u8, name: ?[]const u8 = null };

/// What the person did with a form: filled it in, said no, or dismissed it without an answer.
pub fn Elicited(comptime Form: type) type {
    return union(enum) { accepted: Form, declined, dismissed };
}

/// A text that is typed for an argument of a prompt, or for a variable of a template.
pub const Typed = struct {
    text: []const u8,
    /// The argument or variable.
    argument: []const u8,
    /// The name of the prompt, or the URI of the template.
    of: []const u8,
    /// An object of the arguments that are already set.
    chosen: Value,

    /// Returns the texts that begin with the typed one.
    pub fn fitting(typed: Typed, c: *Call, all: []const []const u8) []const []const u8 {
        var fit: json.List([]const u8) = .{ .arena = c.arena };
        for (all) |one| if (std.mem.startsWith(u8, one, typed.text)) fit.add(one) catch @panic("out of memory");
        return fit.slice();
    }
};

/// A stored value, and its version, which is 0 if the key is absent.
pub fn Entry(comptime T: type) type {
    return struct { value: ?T, version: i64 };
}

pub const Level = enum { debug, info, notice, warning, @"error", critical, alert, emergency };

/// A list of the plugin's entries.
pub const Changing = enum {
    tools,
    resources,
    prompts,

    fn method(l: Changing) []const u8 {
        return switch (l) {
            inline else => |one| "notifications/" ++ @tagName(one) ++ "/list_changed",
        };
    }
};

const stream_key = "dev.sallyport/stream";

pub const Call = struct {
    /// Memory that is free again when the call ends.
    arena: std.mem.Allocator,
    /// The params of the request.
    params: Value = .null,
    failure: ?Failure = null,

    /// Formats a text, as std.fmt does.
    pub fn format(c: *Call, comptime form: []const u8, args: anytype) []const u8 {
        return std.fmt.allocPrint(c.arena, form, args) catch @panic("out of memory");
    }

    /// Joins texts.
    pub fn join(c: *Call, between: []const u8, all: []const []const u8) []const u8 {
        return std.mem.join(c.arena, between, all) catch @panic("out of memory");
    }

    /// Copies a list, so that it may be returned.
    pub fn list(c: *Call, comptime T: type, all: []const T) []const T {
        return c.arena.dupe(T, all) catch @panic("out of memory");
    }

    /// Makes the call fail with a message to the model: `return c.fail("sold out");`
    pub fn fail(c: *Call, message: []const u8) error{Failed} {
        c.failure = .{ .err = error.Failed, .message = message };
        return error.Failed;
    }

    /// Makes the call an MCP error: the request itself is wrong.
    pub fn failMcp(c: *Call, code: i64, message: []const u8, data: Value) error{Mcp} {
        c.failure = .{ .err = error.Mcp, .message = message, .code = code, .data = data };
        return error.Mcp;
    }

    /// Makes any request of the host.
    pub fn ask(c: *Call, method: []const u8, params: anytype) Error!Value {
        const n = host.call(json.stringify(c.arena, .{ .method = method, .params = params }));
        if (n == -11) return c.refused(error.Timeout, "the call was cancelled");
        if (n < 0) return c.refused(error.Unavailable, c.format("host error number {d}", .{-n}));
        const stream: u32 = @intCast(n >> 32);
        const text = host.readAll(c.arena, stream);
        host.close(stream);
        const answer = Value.parse(c.arena, text) catch return c.refused(error.Invalid, "the answer of the host is not JSON");
        if (answer.find("error")) |e| return c.refusedBy(e);
        return answer.get("result");
    }

    fn refused(c: *Call, err: Refusal, message: []const u8) Refusal {
        c.failure = .{ .err = err, .message = message };
        return err;
    }

    fn refusedBy(c: *Call, e: Value) Refusal {
        const data = e.get("data");
        const kind = data.get("kind").text();
        const err = refusalOf(kind);
        c.failure = .{ .err = err, .message = e.get("message").text(), .hint = data.get("hint").text() };
        if (data.find("requiredCapabilities")) |required| {
            c.failure.?.code = -32603;
            c.failure.?.data = .{ .object = c.list(Value.Member, &.{ .{ .key = "kind", .value = .{ .string = kind } }, .{ .key = "requiredCapabilities", .value = required } }) };
        }
        return err;
    }

    fn take(c: *Call, comptime T: type, v: Value) Error!T {
        var d: types.Decoder = .{ .arena = c.arena };
        return d.read(T, v) catch |e| switch (e) {
            error.Misfit => c.refused(error.Invalid, c.format("the answer{s}{s}", .{ d.place, d.problem })),
            error.OutOfMemory => error.OutOfMemory,
        };
    }

    /// Asks the person to fill in a form, a struct.
    pub fn elicit(c: *Call, message: []const u8, comptime Form: type) Error!Elicited(Form) {
        const answer = try c.ask("elicitation/create", .{ .mode = "form", .message = message, .requestedSchema = Schema(Form){} });
        const action = answer.get("action").text();
        if (std.mem.eql(u8, action, "accept")) return .{ .accepted = try c.take(Form, answer.get("content")) };
        return if (std.mem.eql(u8, action, "decline")) .declined else .dismissed;
    }

    /// Asks the client's model. The model's name is a member of the answer's value.
    pub fn sample(c: *Call, prompt: []const u8, max_tokens: u32) Error!Answer {
        const message = .{ .role = "user", .content = .{ .type = "text", .text = prompt } };
        const v = try c.ask("sampling/createMessage", .{ .messages = .{message}, .maxTokens = max_tokens });
        return .{ .text = c.texts(v), .value = v };
    }

    /// Joins the texts of a result's blocks.
    fn texts(c: *Call, result: Value) []const u8 {
        var all: json.List([]const u8) = .{ .arena = c.arena };
        const content = result.get("content");
        all.add(content.get("text").text()) catch @panic("out of memory");
        for (content.items()) |block| all.add(block.get("text").text()) catch @panic("out of memory");
        return c.join("", all.slice());
    }

    /// Returns the client's roots.
    pub fn roots(c: *Call) Error![]const Root {
        const answer = try c.ask("roots/list", .{});
        return c.take([]const Root, answer.get("roots"));
    }

    /// Calls a tool of any plugin by its public name. A tool that failed is error.Failed.
    pub fn callTool(c: *Call, name: []const u8, arguments: anytype) Error!Answer {
        const v = try c.ask("tools/call", .{ .name = name, .arguments = arguments });
        if (v.get("isError").isTrue()) return c.fail(c.texts(v));
        return .{ .text = c.texts(v), .value = v };
    }

    /// Returns a stored value, or null.
    pub fn kvGet(c: *Call, comptime T: type, key: []const u8) Error!?T {
        return (try c.kvEntry(T, key)).value;
    }

    pub fn kvEntry(c: *Call, comptime T: type, key: []const u8) Error!Entry(T) {
        const answer = try c.ask("kv/get", .{ .key = key });
        return .{ .value = try c.take(?T, answer.get("value")), .version = answer.get("version").integer(i64) orelse 0 };
    }

    /// Stores a value, which is committed when the call succeeds.
    pub fn kvSet(c: *Call, key: []const u8, value: anytype) Error!void {
        _ = try c.ask("kv/set", .{ .key = key, .value = value });
    }

    /// Stores a value if the key still has a version, else it is error.Conflict.
    pub fn kvSetIf(c: *Call, key: []const u8, value: anytype, version: i64) Error!void {
        _ = try c.ask("kv/set", .{ .key = key, .value = value, .ifVersion = version });
    }

    /// Removes a key; one that is absent is no error.
    pub fn kvDelete(c: *Call, key: []const u8) Error!void {
        _ = try c.ask("kv/delete", .{ .key = key });
    }

    /// Returns the keys with a prefix.
    pub fn kvList(c: *Call, prefix: []const u8) Error![]const []const u8 {
        var keys: json.List([]const u8) = .{ .arena = c.arena };
        while (true) {
            const answer = try c.ask("kv/list", .{ .prefix = prefix, .after = if (keys.slice().len > 0) keys.slice()[keys.slice().len - 1] else null });
            for (answer.get("keys").items()) |entry| try keys.add(entry.get("key").text());
            if (!answer.get("more").isTrue()) return keys.slice();
        }
    }

    /// Sends a request to the web. A status such as 404 is no error.
    pub fn fetch(c: *Call, url: []const u8, request: Request) Error!Response {
        var body: ?Value = null;
        if (request.body) |bytes| {
            body = try c.ask("stream/open", .{});
            if (!host.writeAll(streamOf(body.?) orelse 0, bytes)) return c.refused(error.Limit, "the body is over the host's limit");
        }
        const answer = try c.ask("http/fetch", .{ .method = request.method, .url = url, .headers = Headers{ .all = request.headers }, .body = body });
        const got = answer.get("body");
        return .{
            .status = answer.get("status").integer(u16) orelse 0,
            .url = answer.get("url").text(),
            .headers = answer.get("headers"),
            .body = if (streamOf(got)) |stream| host.drain(c.arena, stream) else got.text(),
        };
    }

    /// Reports progress to the caller. The total and the message may be null.
    pub fn progress(c: *Call, done: f64, total: ?f64, message: ?[]const u8) void {
        const token = c.params.get("_meta").find("progressToken") orelse return;
        c.notify("notifications/progress", .{ .progressToken = token, .progress = done, .total = total, .message = message });
    }

    /// Sends a log message, whose data is any native value.
    pub fn log(c: *Call, level: Level, data: anytype) void {
        c.notify("notifications/message", .{ .level = level, .data = data });
    }

    /// Adds hidden entries to a list of the caller, by name or URI.
    pub fn show(c: *Call, list_of: Changing, names: []const []const u8) void {
        c.notify(list_of.method(), .{ .show = names });
    }

    /// Removes entries from a list of the caller, by name or URI.
    pub fn hide(c: *Call, list_of: Changing, names: []const []const u8) void {
        c.notify(list_of.method(), .{ .hide = names });
    }

    /// Tells subscribers that the content of a resource has changed.
    pub fn resourceUpdated(c: *Call, uri: []const u8) void {
        c.notify("notifications/resources/updated", .{ .uri = uri });
    }

    /// Lets the client's connection end while the call goes on, if the client can fetch the result later.
    pub fn release(c: *Call) void {
        c.notify("client/release", .{});
    }

    /// Sends a notification, without a failure if the host does not take it.
    fn notify(c: *Call, method: []const u8, params: anytype) void {
        const before = c.failure;
        _ = c.ask(method, params) catch {
            c.failure = before;
        };
    }

    /// Returns a value of the operator's config grants.
    pub fn config(c: *Call, key: []const u8) ?[]const u8 {
        return host.environment(c.arena, key);
    }

    /// Fills memory with random numbers that are fit for keys.
    pub fn random(_: *Call, into: []u8) void {
        if (!host.random(into)) @panic("no random numbers");
    }
};

fn refusalOf(kind: []const u8) Refusal {
    const kinds = .{ .denied = error.Denied, .invalid = error.Invalid, .unsupported = error.Unsupported, .timeout = error.Timeout, .limit = error.Limit, .conflict = error.Conflict };
    inline for (comptime std.meta.fieldNames(@TypeOf(kinds))) |name| {
        if (std.mem.eql(u8, name, kind)) return @field(kinds, name);
    }
    return error.Unavailable;
}

fn streamOf(v: Value) ?u32 {
    return v.get(stream_key).integer(u32);
}

/// Writes itself as the schema of a form.
fn Schema(comptime T: type) type {
    return struct {
        pub fn writeJson(_: @This(), w: *Writer) void {
            types.writeSchema(w, T, false);
        }
    };
}

const Headers = struct {
    all: []const [2][]const u8,

    pub fn writeJson(h: Headers, w: *Writer) void {
        w.open('{');
        for (h.all) |header| w.member(header[0], header[1]);
        w.close('}');
    }
};
