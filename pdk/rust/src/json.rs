//! JSON values: how the host and a plugin talk.

use std::fmt;

/// A JSON value. Members of an object keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// The number as it is written, so that no digit is lost.
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

static NULL: Value = Value::Null;

impl Value {
    /// An object of members.
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::Object(members.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
    }

    /// A member of an object; null if there is none.
    pub fn get(&self, key: &str) -> &Value {
        self.find(key).unwrap_or(&NULL)
    }

    /// A member of an object, if there is one.
    pub fn find(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(all) => all.iter().find(|m| m.0 == key).map(|m| &m.1),
            _ => None,
        }
    }

    /// Sets a member of an object. A value that is null leaves it out.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Value {
        let value = value.into();
        if let (Value::Object(all), false) = (&mut self, value == Value::Null) {
            match all.iter_mut().find(|m| m.0 == key) {
                Some(m) => m.1 = value,
                None => all.push((key.to_string(), value)),
            }
        }
        self
    }

    /// The elements of an array; none if it is something else.
    pub fn list(&self) -> &[Value] {
        match self {
            Value::Array(all) => all,
            _ => &[],
        }
    }

    /// The text of a string; "" if it is something else.
    pub fn text(&self) -> &str {
        match self {
            Value::String(s) => s,
            _ => "",
        }
    }

    /// A whole number, in any spelling that JSON Schema takes for one.
    pub fn integer(&self) -> Option<i64> {
        let digits = match self {
            Value::Number(n) => n,
            _ => return None,
        };
        digits.parse().ok().or_else(|| {
            let f: f64 = digits.parse().ok()?;
            (f.fract() == 0.0 && f.abs() < 9.2e18).then(|| f as i64)
        })
    }

    /// Reads a JSON text.
    pub fn parse(text: &str) -> Result<Value, String> {
        let mut r = Reader { text, at: 0, depth: 0 };
        let v = r.value()?;
        r.blank();
        if r.at < text.len() {
            return Err(format!("JSON goes on after its end at byte {}", r.at));
        }
        Ok(v)
    }

    /// The name of the value's type in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Number(n) => out.push_str(n),
            Value::String(s) => quote(s, out),
            Value::Array(all) => {
                out.push('[');
                for (i, v) in all.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    v.write(out);
                }
                out.push(']');
            }
            Value::Object(all) => {
                out.push('{');
                for (i, (k, v)) in all.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    quote(k, out);
                    out.push(':');
                    v.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

macro_rules! from {
    ($($t:ty => $v:ident: $e:expr),* $(,)?) => { $(impl From<$t> for Value { fn from($v: $t) -> Value { $e } })* };
}

from! {
    bool => v: Value::Bool(v),
    &str => v: Value::String(v.to_string()),
    String => v: Value::String(v),
    i8 => v: Value::Number(v.to_string()), i16 => v: Value::Number(v.to_string()), i32 => v: Value::Number(v.to_string()),
    i64 => v: Value::Number(v.to_string()), isize => v: Value::Number(v.to_string()),
    u8 => v: Value::Number(v.to_string()), u16 => v: Value::Number(v.to_string()), u32 => v: Value::Number(v.to_string()),
    u64 => v: Value::Number(v.to_string()), usize => v: Value::Number(v.to_string()),
    f64 => v: if v.is_finite() { Value::Number(v.to_string()) } else { Value::Null },
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(all: Vec<T>) -> Value {
        Value::Array(all.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Value {
        v.map_or(Value::Null, Into::into)
    }
}

/// The levels of brackets that a text may have.
const DEPTH: usize = 500;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn blank(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn wrong<T>(&self) -> Result<T, String> {
        Err(format!("not JSON at byte {}", self.at))
    }

    fn expect(&mut self, c: u8) -> Result<(), String> {
        self.blank();
        if self.peek() != c {
            return self.wrong();
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Value, String> {
        self.blank();
        for (word, v) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(v);
            }
        }
        match self.peek() {
            b'"' => self.string().map(Value::String),
            b'[' => {
                let mut all = Vec::new();
                self.members(b']', |r| {
                    all.push(r.value()?);
                    Ok(())
                })?;
                Ok(Value::Array(all))
            }
            b'{' => {
                let mut all = Vec::new();
                self.members(b'}', |r| {
                    let key = r.string()?;
                    r.expect(b':')?;
                    all.push((key, r.value()?));
                    Ok(())
                })?;
                Ok(Value::Object(all))
            }
            _ => self.number(),
        }
    }

    fn members(&mut self, end: u8, mut one: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.at += 1;
        self.depth += 1;
        self.blank();
        if self.depth > DEPTH {
            return self.wrong();
        }
        while self.peek() != end {
            one(self)?;
            self.blank();
            match self.peek() {
                b',' => self.at += 1,
                c if c == end => break,
                _ => return self.wrong(),
            }
            self.blank();
        }
        self.depth -= 1;
        self.expect(end)
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        while matches!(self.peek(), b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
            self.at += 1;
        }
        let digits = &self.text[begin..self.at];
        if digits.parse::<f64>().is_err() {
            return self.wrong();
        }
        Ok(Value::Number(digits.to_string()))
    }

    fn string(&mut self) -> Result<String, String> {
        if self.peek() != b'"' {
            return self.wrong();
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| c == '"' || c == '\\').unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return self.wrong(),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 2;
        Ok(match self.text.as_bytes().get(self.at - 1) {
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(c @ (b'"' | b'\\' | b'/')) => *c as char,
            Some(b'u') => {
                let high = self.hex()?;
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        return Ok(char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}'));
                    }
                    self.at = back;
                }
                char::from_u32(high).unwrap_or('\u{fffd}') // half of a pair is no character
            }
            _ => return self.wrong(),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        self.at += 4;
        u32::from_str_radix(digits, 16).or_else(|_| self.wrong())
    }
}
