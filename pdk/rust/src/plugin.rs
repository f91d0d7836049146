//! The plugin: its entries, and the way of a request.

use crate::content::failed;
use crate::host::{read_all, write_all, CALL};
use crate::{Contents, Error, Message, Result, Value};

/// A tool, as `tool!` makes it.
pub struct Tool {
    entry: Value,
    input: fn(bool) -> Value,
    output: fn() -> Option<Value>,
    call: fn(&Value) -> Result<Value>,
}

impl Tool {
    #[doc(hidden)]
    pub fn new(name: &str, description: &str, input: fn(bool) -> Value, output: fn() -> Option<Value>, call: fn(&Value) -> Result<Value>) -> Tool {
        Tool { entry: named(name, description), input, output, call }
    }

    /// Runs the tool with arguments, as in a unit test.
    pub fn call(&self, arguments: &Value) -> Result<Value> {
        (self.call)(arguments)
    }

    /// Adds a member to the entry, such as title, icons, execution or _meta.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Tool {
        self.entry = self.entry.with(key, value);
        self
    }

    fn hint(self, key: &str, is: bool) -> Tool {
        let hints = match self.entry.find("annotations") {
            Some(all) => all.clone(),
            None => Value::object([]),
        };
        self.with("annotations", hints.with(key, is))
    }

    /// It has no side effects.
    pub fn read_only(self) -> Tool {
        self.hint("readOnlyHint", true)
    }
    /// Whether it may delete or overwrite data.
    pub fn destructive(self, is: bool) -> Tool {
        self.hint("destructiveHint", is)
    }
    /// A second call with the same arguments has no further effect.
    pub fn idempotent(self) -> Tool {
        self.hint("idempotentHint", true)
    }
    /// Whether it interacts with the outside, such as the web.
    pub fn open_world(self, is: bool) -> Tool {
        self.hint("openWorldHint", is)
    }

    fn describe(&self) -> Value {
        self.entry.clone().with("inputSchema", (self.input)(true)).with("outputSchema", (self.output)())
    }
}

/// The variables of a template.
pub struct Vars(Vec<(String, String)>);

impl Vars {
    /// A variable; "" if there is none of the name.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|v| v.0 == name).map_or("", |v| &v.1)
    }
}

/// A resource, or a template.
pub struct Resource {
    uri: String,
    entry: Value,
    read: Box<dyn Fn(&Vars) -> Result<Contents>>,
    complete: Vec<(String, Complete)>,
}

/// A resource, or a template if the URI has variables: `{name}` is one segment of the path, `{+name}` all the rest.
pub fn resource<C: Into<Contents>>(uri: &str, name: &str, description: &str, read: impl Fn(&Vars) -> Result<C> + 'static) -> Resource {
    let key = if uri.contains('{') { "uriTemplate" } else { "uri" };
    let entry = named(name, description).with(key, uri);
    Resource { uri: uri.into(), entry, read: Box::new(move |vars| read(vars).map(Into::into)), complete: Vec::new() }
}

impl Resource {
    pub fn mime_type(self, mime_type: &str) -> Resource {
        self.with("mimeType", mime_type)
    }
    /// Adds a member to the entry, such as title, size, annotations or _meta.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Resource {
        self.entry = self.entry.with(key, value);
        self
    }
    /// Suggests values of a template's variable for the text that was typed.
    pub fn complete(mut self, variable: &str, f: impl Fn(&Typed) -> Vec<String> + 'static) -> Resource {
        self.complete.push((variable.into(), Box::new(f)));
        self
    }
    fn is_template(&self) -> bool {
        self.uri.contains('{')
    }
}

type Complete = Box<dyn Fn(&Typed) -> Vec<String>>;

/// A text that is typed for an argument of a prompt, or for a variable of a template.
pub struct Typed<'a> {
    pub text: &'a str,
    /// The argument or variable.
    pub argument: &'a str,
    /// The name of the prompt, or the URI of the template.
    pub of: &'a str,
    chosen: &'a Value,
}

impl Typed<'_> {
    /// Another argument, if it is already set.
    pub fn chosen(&self, argument: &str) -> Option<&str> {
        self.chosen.find(argument).map(Value::text)
    }
    /// The texts that begin with the typed one.
    pub fn fitting(&self, all: &[&str]) -> Vec<String> {
        all.iter().filter(|t| t.starts_with(self.text)).map(|t| t.to_string()).collect()
    }
}

/// A prompt, as `prompt!` makes it.
pub struct Prompt {
    entry: Value,
    schema: fn(bool) -> Value,
    get: fn(&Value) -> Result<Vec<Message>>,
    complete: Vec<(String, Complete)>,
}

impl Prompt {
    #[doc(hidden)]
    pub fn new(name: &str, description: &str, schema: fn(bool) -> Value, get: fn(&Value) -> Result<Vec<Message>>) -> Prompt {
        Prompt { entry: named(name, description), schema, get, complete: Vec::new() }
    }
    /// Adds a member to the entry, such as title or _meta.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Prompt {
        self.entry = self.entry.with(key, value);
        self
    }
    /// Suggests values of an argument for the text that was typed.
    pub fn complete(mut self, argument: &str, f: impl Fn(&Typed) -> Vec<String> + 'static) -> Prompt {
        self.complete.push((argument.into(), Box::new(f)));
        self
    }

    fn required(&self) -> Vec<Value> {
        (self.schema)(true).get("required").list().to_vec()
    }

    fn describe(&self) -> Value {
        let (schema, required) = ((self.schema)(true), self.required());
        let list: Vec<Value> = match schema.get("properties") {
            Value::Object(all) => all
                .iter()
                .map(|(name, s)| named(name, s.get("description").text()).with("required", required.contains(&name.as_str().into()).then(|| true)))
                .collect(),
            _ => Vec::new(),
        };
        self.entry.clone().with("arguments", (!list.is_empty()).then(|| list))
    }
}

/// Asks the operator for a grant: `want("net", "GET https://api.example.com/**", "looks words up")`.
pub struct Want(Value);

pub fn want(family: &str, grant: impl Into<Value>, why: &str) -> Want {
    Want(Value::object([(family, grant.into()), ("why", why.into())]))
}

/// A description of the plugin in one or two sentences.
pub struct Description(pub &'static str);

/// One of the parts of a plugin.
pub enum Item {
    Tool(Tool),
    Resource(Resource),
    Prompt(Prompt),
    Want(Want),
    Description(Description),
}

macro_rules! items {
    ($($t:ident),*) => { $(impl From<$t> for Item { fn from(v: $t) -> Item { Item::$t(v) } })* };
}
items!(Tool, Resource, Prompt, Want, Description);

/// The content of a module.
pub struct Plugin {
    about: Value,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
    wants: Vec<Value>,
}

fn named(name: &str, description: &str) -> Value {
    let description = description.trim();
    Value::object([("name", name.trim_start_matches("r#").into())]).with("description", (!description.is_empty()).then(|| description))
}

impl Plugin {
    pub fn new(name: &str, version: &str) -> Plugin {
        let about = Value::object([("name", name.into()), ("version", version.into())]);
        Plugin { about, tools: Vec::new(), resources: Vec::new(), prompts: Vec::new(), wants: Vec::new() }
    }

    pub fn add(mut self, item: impl Into<Item>) -> Plugin {
        match item.into() {
            Item::Tool(t) => self.tools.push(t),
            Item::Resource(r) => self.resources.push(r),
            Item::Prompt(p) => self.prompts.push(p),
            Item::Want(w) => self.wants.push(w.0),
            Item::Description(d) => self.about = self.about.with("description", d.0),
        }
        self
    }

    fn describe(&self) -> Value {
        let resources = |templates| -> Vec<Value> { self.resources.iter().filter(|r| r.is_template() == templates).map(|r| r.entry.clone()).collect() };
        self.about
            .clone()
            .with("tools", self.tools.iter().map(Tool::describe).collect::<Vec<_>>())
            .with("resources", resources(false))
            .with("resourceTemplates", resources(true))
            .with("prompts", self.prompts.iter().map(Prompt::describe).collect::<Vec<_>>())
            .with("wants", self.wants.clone())
    }

    fn call_tool(&self, params: &Value) -> Result<Value> {
        let name = params.get("name");
        let tool = self.tools.iter().find(|t| t.entry.get("name") == name).ok_or_else(|| wrong(format!("unknown tool: {}", name.text())))?;
        let none = Value::object([]);
        match tool.call(params.find("arguments").unwrap_or(&none)) {
            Err(Error::Failed(message)) => Ok(failed(&message)),
            Err(Error::Refused { message, required: Value::Null, .. }) => Ok(failed(&message)),
            other => other,
        }
    }

    fn read_resource(&self, params: &Value) -> Result<Value> {
        let uri = params.get("uri").text();
        let exact = self.resources.iter().filter(|r| r.uri == uri && !r.is_template()).map(|r| (r, Vars(Vec::new())));
        let fitting = self.resources.iter().filter(|r| r.is_template()).filter_map(|r| Some((r, Vars(fit(&r.uri, uri)?))));
        let (r, vars) = exact.chain(fitting).next().ok_or_else(Error::not_found)?;
        let mut one = (r.read)(&vars)?.0;
        for (key, value) in [("uri", uri), ("mimeType", r.entry.get("mimeType").text())] {
            if one.find(key).is_none() && !value.is_empty() {
                one = one.with(key, value);
            }
        }
        Ok(Value::object([("contents", vec![one].into())]))
    }

    fn prompt(&self, name: &Value) -> Result<&Prompt> {
        self.prompts.iter().find(|p| p.entry.get("name") == name).ok_or_else(|| wrong(format!("unknown prompt: {}", name.text())))
    }

    fn get_prompt(&self, params: &Value) -> Result<Value> {
        let prompt = self.prompt(params.get("name"))?;
        let none = Value::object([]);
        let arguments = params.find("arguments").unwrap_or(&none);
        if let Some(name) = prompt.required().iter().find(|name| arguments.find(name.text()).is_none()) {
            return Err(wrong(format!("argument {} is missing", name.text())));
        }
        let messages = (prompt.get)(arguments)?.into_iter().map(|m| m.0).collect();
        Ok(Value::object([("messages", Value::Array(messages))]))
    }

    fn complete(&self, params: &Value) -> Result<Value> {
        let (of, argument) = (params.get("ref"), params.get("argument"));
        let (of, all) = match of.get("type").text() {
            "ref/prompt" => (of.get("name").text(), &self.prompt(of.get("name"))?.complete),
            _ => {
                let uri = of.get("uri").text();
                (uri, &self.resources.iter().find(|r| r.uri == uri).ok_or_else(|| wrong(format!("unknown ref: {}", uri)))?.complete)
            }
        };
        let typed = Typed { text: argument.get("value").text(), argument: argument.get("name").text(), of, chosen: params.get("context").get("arguments") };
        let mut values = all.iter().find(|c| c.0 == typed.argument).map_or(Vec::new(), |(_, f)| f(&typed));
        let total = values.len();
        values.truncate(100);
        let completion = Value::object([("values", values.into()), ("total", total.into())]).with("hasMore", (total > 100).then(|| true));
        Ok(Value::object([("completion", completion)]))
    }

    /// Serves one request: `{"method", "params"}` to `{"result"}` or `{"error"}`.
    pub fn respond(&self, request: &Value) -> Value {
        let params = request.get("params");
        CALL.with(|c| *c.borrow_mut() = params.clone());
        let result = match request.get("method").text() {
            "plugin/describe" => Ok(self.describe()),
            "tools/call" => self.call_tool(params),
            "resources/read" => self.read_resource(params),
            "prompts/get" => self.get_prompt(params),
            "completion/complete" => self.complete(params),
            method => Err(Error::Mcp { code: -32601, message: format!("method not found: {}", method), data: Value::Null }),
        };
        match result {
            Ok(result) => Value::object([("result", result)]),
            Err(e) => Value::object([("error", error(e))]),
        }
    }
}

fn wrong(message: String) -> Error {
    Error::Mcp { code: -32602, message, data: Value::Null }
}

fn error(e: Error) -> Value {
    let message = e.to_string();
    let (code, data) = match e {
        Error::Mcp { code, data, .. } => (code, data),
        Error::Refused { kind, required, .. } => (-32603, Value::object([("kind", kind.into())]).with("requiredCapabilities", required)),
        Error::Failed(_) => (-32603, Value::Null),
    };
    Value::object([("code", code.into()), ("message", message.into())]).with("data", data)
}

/// The variables of a template in a URI, if it fits.
fn fit(mut template: &str, mut uri: &str) -> Option<Vec<(String, String)>> {
    let mut vars = Vec::new();
    while let Some((literal, rest)) = template.split_once('{') {
        uri = uri.strip_prefix(literal)?;
        let (name, after) = rest.split_once('}')?;
        let stop = after.chars().next();
        let all = name.starts_with('+');
        let end = uri.find(|c| Some(c) == stop || !all && matches!(c, '/' | '?' | '#')).unwrap_or(uri.len());
        if end == 0 {
            return None;
        }
        vars.push((name.trim_start_matches('+').to_string(), unescape(&uri[..end])));
        uri = &uri[end..];
        template = after;
    }
    (template == uri).then(|| vars)
}

fn unescape(s: &str) -> String {
    let (bytes, mut out, mut i) = (s.as_bytes(), Vec::new(), 0);
    while i < bytes.len() {
        let hex = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok()).and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(b) if bytes[i] == b'%' => {
                out.push(b);
                i += 3;
            }
            _ => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[doc(hidden)]
pub fn serve(plugin: &Plugin) -> i32 {
    std::panic::set_hook(Box::new(|info| crate::log("error", info.to_string()))); // a trap alone has no message
    let request = Value::parse(&String::from_utf8_lossy(&read_all(0))).unwrap_or(Value::Null);
    i32::from(!write_all(1, plugin.respond(&request).to_string().as_bytes())) * 29
}
