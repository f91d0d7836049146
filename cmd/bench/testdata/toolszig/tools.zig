//! The tool echo of the comparison of languages. tools.wasm is built of it, with pdk/zig, by make tools-guest.
const sp = @import("sallyport");

fn echo(_: *sp.Call, args: struct { text: []const u8 }) ![]const u8 {
    return args.text;
}

comptime {
    sp.plugin("tools", "1", .{sp.tool("echo", "answers with its text", echo)});
}
