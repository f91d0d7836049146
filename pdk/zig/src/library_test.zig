//! The library's own tests, which run natively.

const std = @import("std");
const call = @import("call.zig");
const content = @import("content.zig");
const entry = @import("entry.zig");
const json = @import("json.zig");
const serve = @import("serve.zig");
const types = @import("types.zig");
const Call = call.Call;
const Value = json.Value;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;

var memory = std.heap.ArenaAllocator.init(std.heap.page_allocator);
const arena = memory.allocator();

const Inner = struct { n: u8 = 7, type: ?[]const u8 = null };

const Outer = struct {
    list: []const Inner,
    one: Inner,
    any: Value = .null,
    pub const about = .{ .list = "the list", .one = .{ .description = "the one", .minProperties = 0 } };
};

fn count(c: *Call, args: struct { outer: Outer, times: f64 = 1.5 }) ![]const u8 {
    var all: json.List([]const u8) = .{ .arena = arena };
    for (args.outer.list) |i| try all.add(c.format("{d}{s}", .{ i.n, i.type orelse "-" }));
    return c.format("{s} {d} {d}", .{ c.join(",", all.slice()), args.outer.one.n, args.times });
}

fn refused(c: *Call) ![]const u8 {
    return (try c.fetch("https://example.com/", .{})).body;
}

fn own(_: *Call) !void {
    return error.SoldOut;
}

fn stale(c: *Call) !void {
    _ = c.fail("an earlier message") catch {};
    return error.SoldOut;
}

fn city(c: *Call, vars: struct { name: []const u8, rest: []const u8 }) ![]const u8 {
    return c.format("{s} {s}", .{ vars.name, vars.rest });
}

const plugin: serve.Plugin = .of("test", "1.0.0", .{
    entry.tool("count", "Counts.", count).with(.{ .title = "Count" }),
    entry.tool("refused", "", refused),
    entry.tool("own", "", own).hints(.{ .destructive = false }),
    entry.tool("stale", "", stale),
    entry.resource("a://{name}/{+rest}", "city", "", city).complete("name", &.{ "Rome", "Riga", "Oslo" }),
});

/// Returns the JSON of an answer, or the message of its error.
fn answer(method: []const u8, params: []const u8) ![]const u8 {
    var c: Call = .{ .arena = arena, .params = try Value.parse(arena, params) };
    return plugin.respond(&c, method) catch |e| if (c.failure) |f| f.message else @errorName(e);
}

fn called(args: []const u8) ![]const u8 {
    const result = try Value.parse(arena, try answer("tools/call", try std.fmt.allocPrint(arena, "{{\"name\":\"count\",\"arguments\":{s}}}", .{args})));
    return result.get("content").items()[0].get("text").text();
}

test "defaults apply at every depth" {
    try expectEqualStrings("7-,2x 7 1.5", try called(
        \\{"outer":{"list":[{},{"n":2.0,"type":"x"}],"one":{"type":null}}}
    ));
}

test "misfits name their place" {
    try expectEqualStrings("argument outer.list[1].n cannot be this JSON number", try called(
        \\{"outer":{"list":[{},{"n":300}],"one":{}}}
    ));
    try expectEqualStrings("argument outer.list cannot be a JSON object", try called(
        \\{"outer":{"list":{},"one":{}}}
    ));
    try expectEqualStrings("argument outer.one is missing", try called(
        \\{"outer":{"list":[]}}
    ));
}

test "schemas close arguments and leave results open" {
    const inner =
        \\{"type":"object","properties":{"n":{"type":"integer","minimum":0,"default":7},"type":{"type":"string"}}
    ;
    inline for (.{ true, false }, .{ inner ++ ",\"additionalProperties\":false}", inner ++ "}" }) |closed, want| {
        var w: json.Writer = .init(arena);
        types.writeSchema(&w, Inner, closed);
        try expectEqualStrings(want, w.out.slice());
    }
    var w: json.Writer = .init(arena);
    types.writeSchema(&w, Outer, false);
    const properties = (try Value.parse(arena, w.out.slice())).get("properties");
    try expectEqualStrings("the list", properties.get("list").get("description").text());
    try expectEqual(0, properties.get("one").get("minProperties").integer(i64));
}

test "JSON reads every escape and refuses other texts" {
    const text =
        \\ {"a\u00e9":["\ud83d\ude00\"\\\/\b\f\n\r\t","\ud800x","\ud800\u0041"],"n":-1.5e3,"t":[true,false,null,{},[]],"n2":1,"n2":2} 
    ;
    const v = try Value.parse(arena, text);
    const all = v.get("aé").items();
    try expectEqualStrings("😀\"\\/\x08\x0c\n\r\t", all[0].text());
    try expectEqualStrings("\u{fffd}x", all[1].text());
    try expectEqualStrings("\u{fffd}A", all[2].text());
    try expectEqual(-1500, v.get("n").integer(i64));
    try expectEqual(2, v.get("n2").integer(i64));
    const again = json.stringify(arena, v);
    try expectEqualStrings(again, json.stringify(arena, try Value.parse(arena, again)));
    for ([_][]const u8{ "", "{", "[1", "[1 2]", "\"", "\"\\", "\"\\u12", "\"\\x\"", "{\"a\"}", "{1:2}", "nul", "1.2.3", "-", "1e", "[]]", &@as([600]u8, @splat('[')) }) |bad| {
        try std.testing.expectError(error.Invalid, Value.parse(arena, bad));
    }
}

test "numbers keep their digits, and integers may be written as floats" {
    const v = try Value.parse(arena, "[9007199254740993,1e3,2.5,1e300,-0.0,18446744073709551615]");
    const n = v.items();
    try expectEqualStrings("[9007199254740993,1e3,2.5,1e300,-0.0,18446744073709551615]", json.stringify(arena, v));
    try expectEqual(9007199254740993, n[0].integer(i64));
    try expectEqual(1000, n[1].integer(u16));
    try expectEqual(null, n[1].integer(u8));
    try expectEqual(null, n[2].integer(i64));
    try expectEqual(null, n[3].integer(i64));
    try expectEqual(0, n[4].integer(i64));
    try expectEqual(null, n[5].integer(i64));
    try expectEqualStrings("[0.1,-2,1e21,1e-7,null]", json.stringify(arena, .{ 0.1, -2.0, 1e21, 1e-7, std.math.inf(f64) }));
}

test "without a host each request is refused" {
    var c: Call = .{ .arena = arena };
    try std.testing.expectError(error.Unavailable, c.kvGet(i64, "n"));
    try expectEqualStrings("host error number 52", c.failure.?.message);
    c.failure = null;
    c.log(.info, "nobody reads it");
    try expectEqual(null, c.failure);
}

test "an error of the author is a result with its name" {
    for ([_][]const u8{ "own", "stale" }) |name| {
        const params = try std.fmt.allocPrint(arena, "{{\"name\":\"{s}\"}}", .{name});
        try expectEqualStrings("{\"content\":[{\"type\":\"text\",\"text\":\"SoldOut\"}],\"isError\":true}", try answer("tools/call", params));
    }
    try expectEqualStrings("unknown tool: other", try answer("tools/call", "{\"name\":\"other\"}"));
    try expectEqualStrings("method not found: other", try answer("other", "{}"));
}

test "templates take a segment or all the rest" {
    try expectEqualStrings("{\"contents\":[{\"uri\":\"a://R%20m%/b/c?d\",\"text\":\"R m% b/c?d\"}]}", try answer("resources/read", "{\"uri\":\"a://R%20m%/b/c?d\"}"));
    for ([_][]const u8{ "a://Rome", "a://Rome/", "a:///b", "b://Rome/b", "" }) |uri| {
        try expectEqual(null, serve.fit(arena, "a://{name}/{+rest}", uri));
    }
    const completion = (try Value.parse(arena, try answer("completion/complete",
        \\{"ref":{"type":"ref/resource","uri":"a://{name}/{+rest}"},"argument":{"name":"name","value":"R"}}
    ))).get("completion");
    try expectEqualStrings("[\"Rome\",\"Riga\"]", json.stringify(arena, completion.get("values")));
}

test "the description has each entry with its members" {
    const all = try Value.parse(arena, try answer("plugin/describe", "null"));
    const tools = all.get("tools").items();
    try expectEqualStrings("Count", tools[0].get("title").text());
    try expectEqual(null, tools[1].find("description"));
    try expectEqualStrings("{\"destructiveHint\":false}", json.stringify(arena, tools[2].get("annotations")));
    try expectEqual(0, all.get("resources").items().len);
    try expectEqual(1, all.get("resourceTemplates").items().len);
}
