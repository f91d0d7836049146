//! The entries of a plugin: tools, resources, prompts and wants. Each is known at compile time, and is changed by
//! functions that return a copy.

const std = @import("std");
const json = @import("json.zig");
const types = @import("types.zig");
const results = @import("results.zig");
const Call = @import("call.zig").Call;
const Typed = @import("call.zig").Typed;
const Contents = @import("content.zig").Contents;
const Value = json.Value;
const Writer = json.Writer;

/// Serves a request, and returns the JSON of its result.
pub const Handler = *const fn (c: *Call, args: Value) anyerror![]const u8;

/// Writes members of an entry.
const Members = *const fn (w: *Writer) void;

/// What a tool does to its surroundings. Null says nothing.
pub const Hints = struct {
    read_only: ?bool = null,
    destructive: ?bool = null,
    idempotent: ?bool = null,
    open_world: ?bool = null,
};

pub const Tool = struct {
    name: []const u8,
    members: Members,
    call: Handler,

    /// Adds members to the entry, such as `.{ .title = "Hello" }`.
    pub fn with(comptime t: Tool, comptime members: anytype) Tool {
        return .{ .name = t.name, .members = both(t.members, members), .call = t.call };
    }

    pub fn hints(comptime t: Tool, comptime h: Hints) Tool {
        return t.with(.{ .annotations = .{ .readOnlyHint = h.read_only, .destructiveHint = h.destructive, .idempotentHint = h.idempotent, .openWorldHint = h.open_world } });
    }
};

pub const Resource = struct {
    uri: []const u8,
    mime_type: ?[]const u8 = null,
    members: Members,
    read: *const fn (c: *Call, vars: Value) anyerror![]const Contents,
    completions: []const Completion = &.{},

    pub fn with(comptime r: Resource, comptime members: anytype) Resource {
        return .{ .uri = r.uri, .mime_type = r.mime_type, .members = both(r.members, members), .read = r.read, .completions = r.completions };
    }

    pub fn mimeType(comptime r: Resource, comptime mime_type: []const u8) Resource {
        var changed = r.with(.{ .mimeType = mime_type });
        changed.mime_type = mime_type;
        return changed;
    }

    /// Suggests values of a template's variable: a list of texts, or a function `fn (c: *Call, typed: Typed)`.
    pub fn complete(comptime r: Resource, comptime variable: []const u8, comptime values: anytype) Resource {
        var changed = r;
        changed.completions = r.completions ++ &[_]Completion{completion(variable, values)};
        return changed;
    }

    pub fn isTemplate(r: Resource) bool {
        for (r.uri) |c| if (c == '{') return true;
        return false;
    }
};

pub const Prompt = struct {
    name: []const u8,
    members: Members,
    get: Handler,
    completions: []const Completion = &.{},

    pub fn with(comptime p: Prompt, comptime members: anytype) Prompt {
        return .{ .name = p.name, .members = both(p.members, members), .get = p.get, .completions = p.completions };
    }

    /// Suggests values of an argument: a list of texts, or a function `fn (c: *Call, typed: Typed)`.
    pub fn complete(comptime p: Prompt, comptime argument: []const u8, comptime values: anytype) Prompt {
        var changed = p;
        changed.completions = p.completions ++ &[_]Completion{completion(argument, values)};
        return changed;
    }
};

/// A request to the operator for a grant.
pub const Want = struct { members: Members };

/// A description of the plugin in one or two sentences.
pub const Description = struct { text: []const u8 };

pub const Completion = struct {
    argument: []const u8,
    suggest: *const fn (c: *Call, typed: Typed) anyerror![]const []const u8,
};

/// Makes a tool of a function: `fn (c: *Call, args: struct { … })`, or without args. It returns a text, a Content, a slice
/// of Content, a struct as structured content, or a Value.
pub fn tool(comptime name: []const u8, comptime about: []const u8, comptime f: anytype) Tool {
    const Args = argsOf(f);
    const served = struct {
        fn members(w: *Writer) void {
            named(w, name, about);
            w.name("inputSchema");
            types.writeSchema(w, Args, true);
            if (comptime results.isStructured(resultOf(f))) {
                w.name("outputSchema");
                types.writeSchema(w, resultOf(f), false);
            }
        }
        fn call(c: *Call, args: Value) anyerror![]const u8 {
            return results.ofTool(c.arena, try invoke(f, c, "argument ", args));
        }
    };
    return .{ .name = name, .members = served.members, .call = served.call };
}

/// Makes a resource of a function, or a template if the URI has variables: {name} is one segment of the path, {+name} all
/// the rest. They are the fields of the function's struct. It returns a text, a Contents, or a slice of Contents.
pub fn resource(comptime uri: []const u8, comptime name: []const u8, comptime about: []const u8, comptime f: anytype) Resource {
    const served = struct {
        fn members(w: *Writer) void {
            const template = comptime for (uri) |c| (if (c == '{') break true) else false;
            w.member(if (template) "uriTemplate" else "uri", uri);
            named(w, name, about);
        }
        fn read(c: *Call, vars: Value) anyerror![]const Contents {
            return results.ofResource(c, try invoke(f, c, "variable ", vars));
        }
    };
    return .{ .uri = uri, .members = served.members, .read = served.read };
}

/// Makes a prompt of a function, whose arguments are texts or optional texts. It returns a text, or a slice of Message.
pub fn prompt(comptime name: []const u8, comptime about: []const u8, comptime f: anytype) Prompt {
    const Args = argsOf(f);
    const served = struct {
        fn members(w: *Writer) void {
            named(w, name, about);
            if (comptime std.meta.fieldNames(Args).len == 0) return;
            w.name("arguments");
            w.open('[');
            inline for (comptime std.meta.fieldNames(Args)) |field| w.element(.{
                .name = field,
                .description = comptime types.descriptionOf(Args, field),
                .required = comptime if (types.isRequired(Args, field)) @as(?bool, true) else null,
            });
            w.close(']');
        }
        fn get(c: *Call, args: Value) anyerror![]const u8 {
            return results.ofPrompt(c.arena, try invoke(f, c, "argument ", args));
        }
    };
    return .{ .name = name, .members = served.members, .get = served.get };
}

/// Asks the operator for a grant: `want("net", "GET https://api.example.com/**", "looks words up")`.
pub fn want(comptime family: []const u8, comptime grant: anytype, comptime why: []const u8) Want {
    return .{ .members = struct {
        fn members(w: *Writer) void {
            w.member(family, grant);
            w.member("why", why);
        }
    }.members };
}

pub fn description(comptime text: []const u8) Description {
    return .{ .text = text };
}

fn named(w: *Writer, name: []const u8, about: []const u8) void {
    w.member("name", name);
    if (about.len > 0) w.member("description", about);
}

fn both(comptime before: Members, comptime members: anytype) Members {
    return struct {
        fn write(w: *Writer) void {
            before(w);
            inline for (comptime std.meta.fieldNames(@TypeOf(members))) |key| w.member(key, @field(members, key));
        }
    }.write;
}

/// Returns the struct of a function's arguments.
fn argsOf(comptime f: anytype) type {
    const Params = std.meta.ArgsTuple(@TypeOf(f));
    const names = std.meta.fieldNames(Params);
    if (names.len == 0 or names.len > 2 or @FieldType(Params, "0") != *Call)
        @compileError("sallyport: want a function of a *sallyport.Call, and of one struct if it has arguments, but got " ++ @typeName(@TypeOf(f)));
    return if (names.len == 1) struct {} else @FieldType(Params, "1");
}

/// Returns the type of a function's result, without its errors.
fn resultOf(comptime f: anytype) type {
    const R = @typeInfo(@TypeOf(f)).@"fn".return_type.?;
    return if (@typeInfo(R) == .error_union) @typeInfo(R).error_union.payload else R;
}

fn invoke(comptime f: anytype, c: *Call, kind: []const u8, args: Value) anyerror!resultOf(f) {
    var d: types.Decoder = .{ .arena = c.arena };
    const decoded = d.read(argsOf(f), args) catch return c.fail(c.format("{s}{s}{s}", .{ kind, if (d.place.len > 0) d.place[1..] else "list", d.problem }));
    return if (comptime std.meta.fieldNames(std.meta.ArgsTuple(@TypeOf(f))).len == 1) f(c) else f(c, decoded);
}

fn completion(comptime argument: []const u8, comptime values: anytype) Completion {
    if (@typeInfo(@TypeOf(values)) == .@"fn") return .{ .argument = argument, .suggest = struct {
        fn suggest(c: *Call, typed: Typed) anyerror![]const []const u8 {
            return values(c, typed);
        }
    }.suggest };
    const all: []const []const u8 = values;
    return .{ .argument = argument, .suggest = struct {
        fn suggest(c: *Call, typed: Typed) anyerror![]const []const u8 {
            return typed.fitting(c, all);
        }
    }.suggest };
}
