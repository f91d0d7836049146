//! The plugin of pdk/scenario in Zig: each library for authors has one, and all answer alike.

const std = @import("std");
const sp = @import("sallyport");

pub const panic = sp.panic;

const Named = struct {
    name: []const u8,
    pub const about = .{ .name = "who to greet" };
};

fn hello(c: *sp.Call, args: Named) ![]const u8 {
    return c.format("Hello, {s}!", .{args.name});
}

const Address = struct { street: []const u8, floor: i64 = 0 };

const Line = struct {
    item: enum { espresso, filter },
    count: i64 = 1,
    pub const about = .{ .count = .{ .minimum = 1 } };
};

fn order(c: *sp.Call, args: struct { to: Address, lines: []const Line, express: bool = false }) ![]const u8 {
    var items: sp.List([]const u8) = .{ .arena = c.arena };
    for (args.lines) |l| try items.add(c.format("{d} {s}", .{ l.count, @tagName(l.item) }));
    const express = if (args.express) ", express" else "";
    return c.format("{s} to {s}, floor {d}{s}", .{ c.join(", ", items.slice()), args.to.street, args.to.floor, express });
}

const Totals = struct { count: i64, total: i64, even: bool };

fn sum(_: *sp.Call, args: struct { numbers: []const i64 }) !Totals {
    var total: i64 = 0;
    for (args.numbers) |n| total += n;
    return .{ .count = @intCast(args.numbers.len), .total = total, .even = @mod(total, 2) == 0 };
}

const motto_text = "once, or said so";
const dot_bytes = [_]u8{ 0, 1, 2, 253, 254, 255 };

fn contents(_: *sp.Call) ![]const sp.Content {
    return &.{
        .{ .text = "größer <&> \"quoted\"\n" },
        .{ .image = .{ .data = &dot_bytes, .mime_type = "image/png" } },
        .{ .audio = .{ .data = dot_bytes[0..4], .mime_type = "audio/wav" } },
        .{ .link = .{ .uri = "scenario://motto", .name = "motto" } },
        .{ .resource = .{ .uri = "scenario://motto", .mime_type = "text/plain", .text = motto_text } },
        .{ .resource = .{ .uri = "scenario://dot", .mime_type = "image/png", .blob = dot_bytes[0..5] } },
    };
}

fn fail(c: *sp.Call) ![]const u8 {
    return c.fail("the tool says no");
}

const Choice = struct { colour: enum { red, green }, count: i64 };

fn ask(c: *sp.Call) ![]const u8 {
    return switch (try c.elicit("Which colour, and how many?", Choice)) {
        .accepted => |a| c.format("{d} × {s}", .{ a.count, @tagName(a.colour) }),
        .declined => "declined",
        .dismissed => "dismissed",
    };
}

fn think(c: *sp.Call) ![]const u8 {
    const a = try c.sample("Why?", 50);
    return c.format("{s} says: {s}", .{ a.value.get("model").text(), a.text });
}

fn roots(c: *sp.Call) ![]const u8 {
    var uris: sp.List([]const u8) = .{ .arena = c.arena };
    for (try c.roots()) |root| try uris.add(root.uri);
    return c.join(" ", uris.slice());
}

fn web(c: *sp.Call, path: []const u8) []const u8 {
    return c.format("{s}{s}", .{ c.config("WEB") orelse "", path });
}

fn fetch(c: *sp.Call, args: struct { path: []const u8 }) ![]const u8 {
    const r = try c.fetch(web(c, args.path), .{});
    return c.format("{d} {s}", .{ r.status, r.body });
}

fn post(c: *sp.Call) ![]const u8 {
    const r = try c.fetch(web(c, "/echo"), .{ .method = "POST", .headers = &.{.{ "Content-Type", "text/plain" }}, .body = "größer" });
    return r.body;
}

fn forbidden(c: *sp.Call) ![]const u8 {
    return (try c.fetch("https://example.com/", .{})).body;
}

const Kind = enum { denied, invalid, unsupported, unavailable, timeout, limit, conflict };

fn request(c: *sp.Call, kind: Kind) !void {
    switch (kind) {
        .denied => _ = try c.fetch("https://example.com/", .{}),
        .invalid => _ = try c.kvGet(i64, ""),
        .unsupported => _ = try c.ask("no/such", .{}),
        .unavailable => _ = try c.fetch(web(c, "/broken"), .{}),
        .timeout => _ = try c.ask("http/fetch", .{ .method = "GET", .url = web(c, "/slow"), .timeoutMs = 50 }),
        .limit => _ = try c.sample("Why?", 5000),
        .conflict => try c.kvSetIf("never", 1, 7),
    }
}

fn refused(c: *sp.Call, args: struct { kind: Kind }) ![]const u8 {
    if (request(c, args.kind)) return "not refused" else |e| {
        const kind = switch (e) {
            error.Denied => "denied",
            error.Invalid => "invalid",
            error.Unsupported => "unsupported",
            error.Unavailable => "unavailable",
            error.Timeout => "timeout",
            error.Limit => "limit",
            error.Conflict => "conflict",
            else => return e,
        };
        const failure = c.failure.?;
        const hint = if (failure.hint.len > 0) c.format(" [{s}]", .{failure.hint}) else "";
        return c.format("{s}: {s}{s}", .{ kind, failure.message, hint });
    }
}

fn visit(c: *sp.Call, args: struct { again: bool = false }) ![]const u8 {
    if (!args.again) try c.kvDelete("visits");
    const n = (try c.kvGet(i64, "visits") orelse 0) + 1;
    try c.kvSet("visits", n);
    return c.format("visit {d}", .{n});
}

fn keys(c: *sp.Call) ![]const u8 {
    for (0..1001) |i| try c.kvSet(c.format("key/{d}", .{i}), i);
    const all = try c.kvList("key/");
    return c.format("{d} keys, {s} to {s}", .{ all.len, all[0], all[all.len - 1] });
}

fn news(c: *sp.Call, args: struct { show: bool = false }) ![]const u8 {
    if (args.show) c.show(.tools, &.{"post"}) else c.hide(.tools, &.{"post"});
    c.resourceUpdated("scenario://motto");
    return "told";
}

fn steps(c: *sp.Call) ![]const u8 {
    c.release();
    c.progress(1, 2, "half");
    c.log(.warning, .{ .step = 1 });
    c.progress(2, 2, null);
    return "done";
}

fn twice(c: *sp.Call, args: Named) ![]const u8 {
    const once = try c.callTool("hello", args);
    return c.format("{s} {s}", .{ once.text, once.text });
}

fn nested(c: *sp.Call) ![]const u8 {
    return (try c.callTool("fail", .{})).text;
}

fn motto(_: *sp.Call) ![]const u8 {
    return motto_text;
}

fn dot(_: *sp.Call) !sp.Contents {
    return .{ .blob = &dot_bytes };
}

fn city(c: *sp.Call, vars: struct { name: []const u8 }) ![]const u8 {
    if (std.mem.eql(u8, vars.name, "nowhere")) return error.NotFound;
    return c.format("The city of {s}", .{vars.name});
}

const Review = struct {
    file: []const u8,
    tone: ?[]const u8,
    pub const about = .{ .file = "what to look at" };
};

fn review(c: *sp.Call, args: Review) ![]const sp.Message {
    const tone = if (args.tone) |t| c.format(" Be {s}.", .{t}) else "";
    return c.list(sp.Message, &.{
        sp.user(c.format("Review {s}.{s}", .{ args.file, tone })),
        sp.assistant(c.format("I begin with {s}.", .{args.file})),
    });
}

fn tones(c: *sp.Call, typed: sp.Typed) ![]const []const u8 {
    var all: sp.List([]const u8) = .{ .arena = c.arena };
    for ([_][]const u8{ "kind", "strict", "stern" }) |tone| try all.add(tone);
    if (typed.chosen.find("file")) |file| try all.add(c.format("{s} of {s} for {s}", .{ typed.argument, typed.of, file.text() }));
    return typed.fitting(c, all.slice());
}

comptime {
    sp.plugin("scenario", "1.0.0", .{
        sp.description("Answers the scenario."),
        sp.tool("hello", "Greets someone.", hello).hints(.{ .read_only = true }),
        sp.tool("order", "Takes an order.", order),
        sp.tool("sum", "Adds numbers.", sum),
        sp.tool("contents", "Has a block of each kind.", contents),
        sp.tool("fail", "Fails.", fail),
        sp.tool("ask", "Asks the person.", ask),
        sp.tool("think", "Asks the model.", think),
        sp.tool("roots", "Lists the client's folders.", roots),
        sp.tool("fetch", "Gets a page.", fetch),
        sp.tool("post", "Sends a text.", post),
        sp.tool("forbidden", "Asks for a page that no grant allows.", forbidden),
        sp.tool("refused", "Tells how the host refuses.", refused),
        sp.tool("visit", "Counts visits.", visit),
        sp.tool("keys", "Keeps many keys.", keys),
        sp.tool("news", "Tells of changes.", news),
        sp.tool("steps", "Reports progress.", steps),
        sp.tool("twice", "Calls hello.", twice),
        sp.tool("nested", "Calls fail.", nested),
        sp.resource("scenario://motto", "motto", "A text.", motto).mimeType("text/plain"),
        sp.resource("scenario://dot", "dot", "Some bytes.", dot).mimeType("image/png"),
        sp.resource("scenario://city/{name}", "city", "A city.", city).mimeType("text/plain").complete("name", &.{ "Paris", "São Paulo", "São Tomé" }),
        sp.prompt("review", "Asks for a review.", review).complete("tone", tones),
        sp.want("kv", "1MiB", "counts visits"),
    });
}
