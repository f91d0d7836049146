//! Content, and the results that tools, resources and prompts have.

const json = @import("json.zig");
const Value = json.Value;
const Writer = json.Writer;

/// One block of content.
pub const Content = union(enum) {
    text: []const u8,
    image: Media,
    audio: Media,
    link: Link,
    resource: Contents,
    /// Any other block, or one with further members.
    value: Value,

    pub const Media = struct { data: []const u8, mime_type: []const u8 };

    pub const Link = struct {
        uri: []const u8,
        name: []const u8,
        description: ?[]const u8 = null,
        mime_type: ?[]const u8 = null,
    };

    pub fn writeJson(c: Content, w: *Writer) void {
        if (c == .value) return c.value.writeJson(w);
        w.open('{');
        switch (c) {
            .text => |s| {
                w.member("type", "text");
                w.member("text", s);
            },
            .image, .audio => |m| {
                w.member("type", @tagName(c));
                w.name("data");
                w.base64(m.data);
                w.member("mimeType", m.mime_type);
            },
            .link => |l| {
                w.member("type", "resource_link");
                w.member("uri", l.uri);
                w.member("name", l.name);
                w.member("description", l.description);
                w.member("mimeType", l.mime_type);
            },
            .resource => |r| {
                w.member("type", "resource");
                w.member("resource", r);
            },
            .value => unreachable,
        }
        w.close('}');
    }
};

/// The contents of a resource: a text or bytes. In the result of a resource, the URI and the media type are those of the
/// request and the definition if they are left out.
pub const Contents = struct {
    uri: ?[]const u8 = null,
    mime_type: ?[]const u8 = null,
    text: ?[]const u8 = null,
    blob: ?[]const u8 = null,

    pub fn writeJson(c: Contents, w: *Writer) void {
        w.open('{');
        w.member("uri", c.uri);
        w.member("mimeType", c.mime_type);
        w.member("text", c.text);
        if (c.blob) |bytes| {
            w.name("blob");
            w.base64(bytes);
        }
        w.close('}');
    }
};

/// One message of a prompt.
pub const Message = struct {
    role: enum { user, assistant },
    content: Content,
};

/// Returns a message of the user.
pub fn user(text: []const u8) Message {
    return .{ .role = .user, .content = .{ .text = text } };
}

/// Returns a message of the assistant.
pub fn assistant(text: []const u8) Message {
    return .{ .role = .assistant, .content = .{ .text = text } };
}
