//! Sallyport plugins in Zig:
//!
//!     const sp = @import("sallyport");
//!
//!     fn greet(c: *sp.Call, args: struct { name: []const u8 }) ![]const u8 {
//!         return c.format("Hello, {s}!", .{args.name});
//!     }
//!
//!     comptime {
//!         sp.plugin("hello", "1.0.0", .{sp.tool("greet", "Greets someone.", greet)});
//!     }
//!
//! The target is wasm32-freestanding.

const call = @import("call.zig");
const content = @import("content.zig");
const entry = @import("entry.zig");
const json = @import("json.zig");
const serving = @import("serve.zig");

pub const Call = call.Call;
pub const Answer = call.Answer;
pub const Elicited = call.Elicited;
pub const Entry = call.Entry;
pub const Error = call.Error;
pub const Failure = call.Failure;
pub const Level = call.Level;
pub const Refusal = call.Refusal;
pub const Request = call.Request;
pub const Response = call.Response;
pub const Root = call.Root;
pub const Typed = call.Typed;

pub const Content = content.Content;
pub const Contents = content.Contents;
pub const Message = content.Message;
pub const assistant = content.assistant;
pub const user = content.user;

pub const Description = entry.Description;
pub const Hints = entry.Hints;
pub const Prompt = entry.Prompt;
pub const Resource = entry.Resource;
pub const Tool = entry.Tool;
pub const Want = entry.Want;
pub const description = entry.description;
pub const prompt = entry.prompt;
pub const resource = entry.resource;
pub const tool = entry.tool;
pub const want = entry.want;

pub const List = json.List;
pub const Value = json.Value;
pub const stringify = json.stringify;

/// A panic handler that logs the message: `pub const panic = sp.panic;` in the plugin's own file. It is needed for
/// ReleaseSafe and Debug; in ReleaseSmall and ReleaseFast the checks are not compiled.
pub const panic = serving.panic;

/// Makes the module's plugin of its tools, resources, prompts, wants and description.
pub fn plugin(comptime name: []const u8, comptime version: []const u8, comptime items: anytype) void {
    const handle = struct {
        fn handle(_: i32) callconv(.c) i32 {
            return serving.serve(comptime .of(name, version, items));
        }
    }.handle;
    @export(&handle, .{ .name = "mcp_handle" });
}
