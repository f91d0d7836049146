//! Requests to the host, which each need a grant.

use std::cell::RefCell;
use std::fmt;

use crate::{Content, Type, Value};

/// Why a call fails.
#[derive(Clone, Debug)]
pub enum Error {
    /// The tool says no: its text is shown to the model.
    Failed(String),
    /// The request itself is wrong.
    Mcp { code: i64, message: String, data: Value },
    /// The host refused a request. `hint` is the line that would allow it, or empty; `required` is the capability that the
    /// client lacks, or null.
    Refused { kind: String, message: String, hint: String, required: Value },
}

impl Error {
    /// The error of a resource that does not exist.
    pub fn not_found() -> Error {
        let uri = CALL.with(|c| c.borrow().get("uri").clone());
        Error::Mcp { code: -32602, message: "resource not found".into(), data: Value::object([("uri", uri)]) }
    }

    /// The kind of a refusal: denied, invalid, unsupported, unavailable, timeout, limit or conflict; else "".
    pub fn kind(&self) -> &str {
        match self {
            Error::Refused { kind, .. } => kind,
            _ => "",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Failed(message) | Error::Mcp { message, .. } | Error::Refused { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::Failed(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::Failed(message.into())
    }
}

/// The result of most functions of a plugin.
pub type Result<T> = std::result::Result<T, Error>;

thread_local! {
    /// The params of the request that is served.
    pub(crate) static CALL: RefCell<Value> = RefCell::new(Value::Null);
}

#[cfg(target_arch = "wasm32")]
mod import {
    #[link(wasm_import_module = "sallyport")]
    extern "C" {
        pub fn read(stream: u32, p: *mut u8, size: usize) -> i32;
        pub fn write(stream: u32, p: *const u8, size: usize) -> i32;
        pub fn call(p: *const u8, size: usize) -> i64;
        pub fn close(stream: u32) -> i32;
    }
    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        pub fn environ_sizes_get(count: *mut usize, size: *mut usize) -> i32;
        pub fn environ_get(entries: *mut *mut u8, text: *mut u8) -> i32;
        pub fn random_get(p: *mut u8, size: usize) -> i32;
    }
}

/// Outside of a module, in a native unit test, there is no host.
#[cfg(not(target_arch = "wasm32"))]
mod import {
    pub unsafe fn read(_: u32, _: *mut u8, _: usize) -> i32 {
        0
    }
    pub unsafe fn write(_: u32, _: *const u8, _: usize) -> i32 {
        -52
    }
    pub unsafe fn call(_: *const u8, _: usize) -> i64 {
        -52
    }
    pub unsafe fn close(_: u32) -> i32 {
        0
    }
    pub unsafe fn environ_sizes_get(_: *mut usize, _: *mut usize) -> i32 {
        52
    }
    pub unsafe fn environ_get(_: *mut *mut u8, _: *mut u8) -> i32 {
        52
    }
    pub unsafe fn random_get(_: *mut u8, _: usize) -> i32 {
        52
    }
}

pub(crate) fn read_all(stream: u32) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let size = all.len();
        all.resize(size * 2 + 4096, 0);
        let n = unsafe { import::read(stream, all[size..].as_mut_ptr(), all.len() - size) };
        all.truncate(size + n.max(0) as usize);
        if n <= 0 {
            return all;
        }
    }
}

pub(crate) fn write_all(stream: u32, mut data: &[u8]) -> bool {
    while !data.is_empty() {
        match unsafe { import::write(stream, data.as_ptr(), data.len()) } {
            n if n > 0 => data = &data[n as usize..],
            _ => return false,
        }
    }
    true
}

fn refused(kind: &str, message: impl Into<String>) -> Error {
    Error::Refused { kind: kind.into(), message: message.into(), hint: String::new(), required: Value::Null }
}

/// Makes any request of the host.
pub fn ask(method: &str, params: Value) -> Result<Value> {
    let request = Value::object([("method", method.into())]).with("params", params).to_string();
    let n = unsafe { import::call(request.as_ptr(), request.len()) };
    match n {
        -11 => return Err(refused("timeout", "the call was cancelled")),
        n if n < 0 => return Err(refused("unavailable", format!("host error number {}", -n))),
        _ => (),
    }
    let stream = (n >> 32) as u32;
    let text = read_all(stream);
    unsafe { import::close(stream) };
    let answer = Value::parse(&String::from_utf8_lossy(&text)).map_err(|e| refused("invalid", e))?;
    match answer.find("error") {
        Some(error) => {
            let data = error.get("data");
            let kind = data.find("kind").map_or("unavailable", Value::text).to_string();
            let required = data.get("requiredCapabilities").clone();
            Err(Error::Refused { kind, message: error.get("message").text().into(), hint: data.get("hint").text().into(), required })
        }
        None => Ok(answer.get("result").clone()),
    }
}

fn take<T: Type>(v: &Value) -> Result<T> {
    T::read(v).map_err(|e| refused("invalid", format!("the answer{}", e)))
}

/// What the person did with a form.
pub enum Elicited<F> {
    Accepted(F),
    /// Said no.
    Declined,
    /// Dismissed it without an answer.
    Dismissed,
}

/// Asks the person to fill in a form, a struct of `object!`.
pub fn elicit<F: Type>(message: &str) -> Result<Elicited<F>> {
    let answer = ask("elicitation/create", Value::object([("mode", "form".into()), ("message", message.into()), ("requestedSchema", F::schema(false))]))?;
    match answer.get("action").text() {
        "accept" => take(answer.get("content")).map(Elicited::Accepted),
        "decline" => Ok(Elicited::Declined),
        _ => Ok(Elicited::Dismissed),
    }
}

/// The answer of the client's model.
pub struct Sampled {
    pub model: String,
    pub text: String,
    /// The whole answer.
    pub value: Value,
}

/// Asks the client's model.
pub fn sample(prompt: &str, max_tokens: u32) -> Result<Sampled> {
    let messages = vec![crate::user(prompt).0];
    let value = ask("sampling/createMessage", Value::object([("messages", messages.into()), ("maxTokens", max_tokens.into())]))?;
    Ok(Sampled { model: value.get("model").text().into(), text: texts(&value), value })
}

/// The texts of a result's blocks.
pub fn texts(result: &Value) -> String {
    let content = result.get("content");
    content.list().iter().chain([content]).map(|block| block.get("text").text()).collect()
}

/// A folder or file that the client works in.
pub struct Root {
    pub uri: String,
    pub name: String,
}

/// The client's roots.
pub fn roots() -> Result<Vec<Root>> {
    let answer = ask("roots/list", Value::Null)?;
    Ok(answer.get("roots").list().iter().map(|r| Root { uri: r.get("uri").text().into(), name: r.get("name").text().into() }).collect())
}

/// Calls a tool of any plugin by its public name, and returns its whole result. A tool that failed is an error.
pub fn call_tool(name: &str, arguments: Value) -> Result<Value> {
    let result = ask("tools/call", Value::object([("name", name.into()), ("arguments", arguments)]))?;
    match result.get("isError") {
        Value::Bool(true) => Err(Error::Failed(texts(&result))),
        _ => Ok(result),
    }
}

fn key(key: &str) -> Value {
    Value::object([("key", key.into())])
}

/// A stored value, None if the key is absent, and the key's version, then 0.
pub fn kv_entry<T: Type>(name: &str) -> Result<(Option<T>, i64)> {
    let answer = ask("kv/get", key(name))?;
    Ok((take(answer.get("value"))?, answer.get("version").integer().unwrap_or(0)))
}

/// A stored value, None if the key is absent.
pub fn kv_get<T: Type>(name: &str) -> Result<Option<T>> {
    kv_entry(name).map(|e| e.0)
}

/// Stores a value, to be committed when the call succeeds.
pub fn kv_set<T: Type>(name: &str, value: &T) -> Result<()> {
    ask("kv/set", key(name).with("value", value.write())).map(drop)
}

/// Stores a value if the key still has a version: another one is a refusal of kind conflict.
pub fn kv_set_if<T: Type>(name: &str, value: &T, version: i64) -> Result<()> {
    ask("kv/set", key(name).with("value", value.write()).with("ifVersion", version)).map(drop)
}

/// Removes a key; one that is absent is no error.
pub fn kv_delete(name: &str) -> Result<()> {
    ask("kv/delete", key(name)).map(drop)
}

/// The keys with a prefix.
pub fn kv_list(prefix: &str) -> Result<Vec<String>> {
    let mut keys: Vec<String> = Vec::new();
    loop {
        let answer = ask("kv/list", Value::object([("prefix", prefix.into())]).with("after", keys.last().cloned()))?;
        keys.extend(answer.get("keys").list().iter().map(|k| k.get("key").text().to_string()));
        if answer.get("more") != &Value::Bool(true) {
            return Ok(keys);
        }
    }
}

/// A request to the web.
pub struct Request {
    method: String,
    url: String,
    headers: Value,
    body: Option<Vec<u8>>,
}

/// A response of any status.
pub struct Response {
    pub status: u16,
    pub url: String,
    pub headers: Value,
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Request {
    pub fn new(method: &str, url: &str) -> Request {
        Request { method: method.into(), url: url.into(), headers: Value::object([]), body: None }
    }
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers = self.headers.with(name, value);
        self
    }
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = Some(body.into());
        self
    }

    /// Sends the request. A status such as 404 is no error.
    pub fn send(self) -> Result<Response> {
        const STREAM: &str = "dev.sallyport/stream";
        let mut params = Value::object([("method", self.method.into()), ("url", self.url.into()), ("headers", self.headers)]);
        if let Some(body) = self.body {
            let stream = ask("stream/open", Value::object([]))?;
            if !write_all(stream.get(STREAM).integer().unwrap_or(0) as u32, &body) {
                return Err(refused("limit", "the body is over the host's limit"));
            }
            params = params.with("body", stream);
        }
        let answer = ask("http/fetch", params)?;
        let body = match (answer.get("body"), answer.get("body").get(STREAM).integer()) {
            (_, Some(n)) => {
                let all = read_all(n as u32);
                unsafe { import::close(n as u32) };
                all
            }
            (text, None) => text.text().into(),
        };
        let status = answer.get("status").integer().unwrap_or(0) as u16;
        Ok(Response { status, url: answer.get("url").text().into(), headers: answer.get("headers").clone(), body })
    }
}

/// Gets a page.
pub fn fetch(url: &str) -> Result<Response> {
    Request::new("GET", url).send()
}

/// Reports progress to the caller: done of total, of which 0 is unknown. An empty message is none.
pub fn progress(done: f64, total: f64, message: &str) {
    let token = CALL.with(|c| c.borrow().get("_meta").get("progressToken").clone());
    if token != Value::Null {
        let params = Value::object([("progressToken", token), ("progress", done.into())])
            .with("total", (total > 0.0).then(|| total))
            .with("message", (!message.is_empty()).then(|| message));
        let _ = ask("notifications/progress", params); // a notification is best effort
    }
}

/// Sends a log message; level is debug, info, notice, warning or error.
pub fn log(level: &str, data: impl Into<Value>) {
    let _ = ask("notifications/message", Value::object([("level", level.into()), ("data", data.into())]));
}

/// Adds hidden entries to the caller's list of "tools", "resources" or "prompts", by name or URI.
pub fn show(list: &str, names: &[&str]) {
    change(list, "show", names);
}

/// Removes entries from the caller's list of "tools", "resources" or "prompts", by name or URI.
pub fn hide(list: &str, names: &[&str]) {
    change(list, "hide", names);
}

fn change(list: &str, verb: &str, names: &[&str]) {
    let names: Vec<Value> = names.iter().map(|n| (*n).into()).collect();
    let _ = ask(&format!("notifications/{}/list_changed", list), Value::object([(verb, names.into())]));
}

/// Tells subscribers that the content of a resource has changed.
pub fn resource_updated(uri: &str) {
    let _ = ask("notifications/resources/updated", Value::object([("uri", uri.into())]));
}

/// Lets the client's connection end while the call goes on, if the client can fetch the result later.
pub fn release() {
    let _ = ask("client/release", Value::object([]));
}

/// A value of the operator's config grants.
pub fn config(name: &str) -> Option<String> {
    let (mut count, mut size) = (0, 0);
    if unsafe { import::environ_sizes_get(&mut count, &mut size) } != 0 || count == 0 {
        return None;
    }
    let (mut entries, mut text) = (vec![std::ptr::null_mut(); count], vec![0u8; size]);
    if unsafe { import::environ_get(entries.as_mut_ptr(), text.as_mut_ptr()) } != 0 {
        return None;
    }
    text.split(|b| *b == 0).find_map(|entry| String::from_utf8_lossy(entry).strip_prefix(name)?.strip_prefix('=').map(str::to_string))
}

/// Fills memory with random numbers that are fit for keys.
pub fn random(into: &mut [u8]) {
    let failed = unsafe { import::random_get(into.as_mut_ptr(), into.len()) };
    assert!(failed == 0, "no random numbers");
}

impl From<Content> for Value {
    fn from(c: Content) -> Value {
        c.0
    }
}
