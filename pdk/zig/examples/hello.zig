const sp = @import("sallyport");

fn hello(c: *sp.Call, args: struct { name: []const u8 }) ![]const u8 {
    return c.format("Hello, {s}!", .{args.name});
}

comptime {
    sp.plugin("hello", "1.0.0", .{sp.tool("hello", "Greets someone.", hello)});
}
