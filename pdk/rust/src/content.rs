//! Content, and what a tool, a resource or a prompt may return.

use crate::{Error, Result, Type, Value};

/// One block of content.
#[derive(Clone, Debug)]
pub struct Content(pub Value);

/// Contents of a resource.
#[derive(Clone, Debug)]
pub struct Contents(pub Value);

/// One message of a prompt.
#[derive(Clone, Debug)]
pub struct Message(pub Value);

pub fn text(text: impl Into<String>) -> Content {
    Content(Value::object([("type", "text".into()), ("text", text.into().into())]))
}
pub fn image(data: &[u8], mime_type: &str) -> Content {
    Content(Value::object([("type", "image".into()), ("data", base64(data).into()), ("mimeType", mime_type.into())]))
}
pub fn audio(data: &[u8], mime_type: &str) -> Content {
    Content(Value::object([("type", "audio".into()), ("data", base64(data).into()), ("mimeType", mime_type.into())]))
}
/// A reference to a resource.
pub fn link(uri: &str, name: &str) -> Content {
    Content(Value::object([("type", "resource_link".into()), ("uri", uri.into()), ("name", name.into())]))
}
/// The contents of a resource as a block.
pub fn embed(contents: Contents) -> Content {
    Content(Value::object([("type", "resource".into()), ("resource", contents.0)]))
}

impl Contents {
    pub fn text(text: impl Into<String>) -> Contents {
        Contents(Value::object([("text", text.into().into())]))
    }
    pub fn blob(data: &[u8]) -> Contents {
        Contents(Value::object([("blob", base64(data).into())]))
    }
    /// Sets the URI; without one it is that of the request.
    pub fn uri(self, uri: &str) -> Contents {
        Contents(self.0.with("uri", uri))
    }
    /// Sets the media type; without one it is that of the definition.
    pub fn mime_type(self, mime_type: &str) -> Contents {
        Contents(self.0.with("mimeType", mime_type))
    }
}

impl From<&str> for Contents {
    fn from(text: &str) -> Contents {
        Contents::text(text)
    }
}
impl From<String> for Contents {
    fn from(text: String) -> Contents {
        Contents::text(text)
    }
}
impl From<&[u8]> for Contents {
    fn from(data: &[u8]) -> Contents {
        Contents::blob(data)
    }
}

fn message(role: &str, content: Content) -> Message {
    Message(Value::object([("role", role.into()), ("content", content.0)]))
}
pub fn user(content: impl Into<Content>) -> Message {
    message("user", content.into())
}
pub fn assistant(content: impl Into<Content>) -> Message {
    message("assistant", content.into())
}

impl From<&str> for Content {
    fn from(s: &str) -> Content {
        text(s)
    }
}
impl From<String> for Content {
    fn from(s: String) -> Content {
        text(s)
    }
}

fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity((data.len() + 2) / 3 * 4);
    for three in data.chunks(3) {
        let n = three.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            out.push(if i > three.len() { '=' } else { DIGITS[(n >> (18 - 6 * i)) as usize & 63] as char });
        }
    }
    out
}

/// What a tool may return: text, blocks, a struct of `object!` as structured content, a `RawResult`, or a `Result` of these.
pub trait Answer {
    /// The result of tools/call.
    fn answer(self) -> Result<Value>;
    /// The output schema.
    fn output() -> Option<Value> {
        None
    }
}

/// A whole result of tools/call.
pub struct RawResult(pub Value);

fn blocks(all: Vec<Content>) -> Value {
    Value::object([("content", all.into())])
}

#[doc(hidden)]
pub fn structured(v: Value) -> Value {
    blocks(vec![text(v.to_string())]).with("structuredContent", v)
}

impl Answer for RawResult {
    fn answer(self) -> Result<Value> {
        Ok(self.0)
    }
}
impl Answer for String {
    fn answer(self) -> Result<Value> {
        Ok(blocks(vec![text(self)]))
    }
}
impl Answer for &str {
    fn answer(self) -> Result<Value> {
        Ok(blocks(vec![text(self)]))
    }
}
impl Answer for () {
    fn answer(self) -> Result<Value> {
        Ok(blocks(vec![]))
    }
}
impl Answer for Content {
    fn answer(self) -> Result<Value> {
        Ok(blocks(vec![self]))
    }
}
impl Answer for Vec<Content> {
    fn answer(self) -> Result<Value> {
        Ok(blocks(self))
    }
}
impl<T: Answer, E: Into<Error>> Answer for std::result::Result<T, E> {
    fn answer(self) -> Result<Value> {
        self.map_err(Into::into)?.answer()
    }
    fn output() -> Option<Value> {
        T::output()
    }
}

/// What a prompt may return: text of the user, messages, or a `Result` of these.
pub trait Messages {
    fn messages(self) -> Result<Vec<Message>>;
}
impl Messages for String {
    fn messages(self) -> Result<Vec<Message>> {
        Ok(vec![user(self)])
    }
}
impl Messages for Vec<Message> {
    fn messages(self) -> Result<Vec<Message>> {
        Ok(self)
    }
}
impl<T: Messages, E: Into<Error>> Messages for std::result::Result<T, E> {
    fn messages(self) -> Result<Vec<Message>> {
        self.map_err(Into::into)?.messages()
    }
}

pub(crate) fn failed(message: &str) -> Value {
    blocks(vec![text(message)]).with("isError", true)
}

#[doc(hidden)]
pub fn arguments<T: Type>(v: &Value) -> Result<T> {
    T::read(v).map_err(|e| Error::Failed(format!("argument {}", e.trim_start_matches('.'))))
}
