//! Native types as JSON: their schemas, defaults and decoding.

use crate::Value;

/// A type that arguments, results and forms may have. `object!` implements it for a struct.
pub trait Type: Sized {
    /// Whether a member of the type may be absent.
    const OPTIONAL: bool = false;
    /// The JSON Schema. The objects of a closed one refuse unknown members.
    fn schema(closed: bool) -> Value;
    /// Decodes a value; the error begins with the path of a member, or is empty.
    fn read(v: &Value) -> Result<Self, String>;
    fn write(&self) -> Value;
}

fn misfit<T>(v: &Value) -> Result<T, String> {
    Err(format!(" cannot be a JSON {}", v.kind()))
}

fn of(name: &str) -> Value {
    Value::object([("type", name.into())])
}

impl Type for String {
    fn schema(_: bool) -> Value {
        of("string")
    }
    fn read(v: &Value) -> Result<Self, String> {
        match v {
            Value::String(s) => Ok(s.clone()),
            _ => misfit(v),
        }
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
}

impl Type for bool {
    fn schema(_: bool) -> Value {
        of("boolean")
    }
    fn read(v: &Value) -> Result<Self, String> {
        match v {
            Value::Bool(b) => Ok(*b),
            _ => misfit(v),
        }
    }
    fn write(&self) -> Value {
        (*self).into()
    }
}

impl Type for f64 {
    fn schema(_: bool) -> Value {
        of("number")
    }
    fn read(v: &Value) -> Result<Self, String> {
        match v {
            Value::Number(n) => n.parse().or_else(|_| misfit(v)),
            _ => misfit(v),
        }
    }
    fn write(&self) -> Value {
        (*self).into()
    }
}

macro_rules! integers {
    ($($t:ty: $minimum:expr),*) => { $(impl Type for $t {
        fn schema(_: bool) -> Value {
            of("integer").with("minimum", $minimum)
        }
        fn read(v: &Value) -> Result<Self, String> {
            v.integer().and_then(|n| n.try_into().ok()).map_or_else(|| misfit(v), Ok)
        }
        fn write(&self) -> Value {
            (*self).into()
        }
    })* };
}

integers!(i8: None::<i64>, i16: None::<i64>, i32: None::<i64>, i64: None::<i64>, u8: Some(0), u16: Some(0), u32: Some(0), u64: Some(0), usize: Some(0));

impl<T: Type> Type for Vec<T> {
    fn schema(closed: bool) -> Value {
        of("array").with("items", T::schema(closed))
    }
    fn read(v: &Value) -> Result<Self, String> {
        match v {
            Value::Array(all) => all.iter().enumerate().map(|(i, v)| T::read(v).map_err(|e| format!("[{}]{}", i, e))).collect(),
            _ => misfit(v),
        }
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(Type::write).collect())
    }
}

impl<T: Type> Type for Option<T> {
    const OPTIONAL: bool = true;
    fn schema(closed: bool) -> Value {
        T::schema(closed)
    }
    fn read(v: &Value) -> Result<Self, String> {
        match v {
            Value::Null => Ok(None),
            v => T::read(v).map(Some),
        }
    }
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, Type::write)
    }
}

/// Any JSON.
impl Type for Value {
    fn schema(_: bool) -> Value {
        Value::object([])
    }
    fn read(v: &Value) -> Result<Self, String> {
        Ok(v.clone())
    }
    fn write(&self) -> Value {
        self.clone()
    }
}

/// The schema of a struct under construction, for `object!`.
#[doc(hidden)]
#[derive(Default)]
pub struct Fields {
    properties: Vec<(String, Value)>,
    required: Vec<Value>,
}

#[doc(hidden)]
impl Fields {
    pub fn add<T: Type>(&mut self, name: &str, doc: &str, default: Option<T>, more: &str, closed: bool) {
        let doc = doc.trim();
        let mut schema = T::schema(closed).with("description", (!doc.is_empty()).then(|| doc)).with("default", default.as_ref().map(Type::write));
        if let Ok(Value::Object(all)) = Value::parse(more) {
            for (k, v) in all {
                schema = schema.with(&k, v);
            }
        }
        let name = name.trim_start_matches("r#");
        if default.is_none() && !T::OPTIONAL {
            self.required.push(name.into());
        }
        self.properties.push((name.to_string(), schema));
    }

    pub fn schema(self, closed: bool) -> Value {
        of("object")
            .with("properties", Value::Object(self.properties))
            .with("required", (!self.required.is_empty()).then(|| self.required))
            .with("additionalProperties", closed.then(|| false))
    }
}

#[doc(hidden)]
pub fn member<T: Type>(v: &Value, name: &str, default: Option<T>) -> Result<T, String> {
    let name = name.trim_start_matches("r#");
    match (v.find(name), default) {
        (None, Some(d)) => Ok(d),
        (None, None) if !T::OPTIONAL => Err(format!(".{} is missing", name)),
        (found, _) => T::read(found.unwrap_or(&Value::Null)).map_err(|e| format!(".{}{}", name, e)),
    }
}

/// Declares structs for arguments, results and forms. A comment of a field describes it, `= value` makes it optional, and
/// `=> { … }` adds members to its JSON Schema:
///
/// ```
/// sallyport::object! {
///     struct Line {
///         /// what to brew
///         item: String => {"enum": ["espresso", "filter"]},
///         count: i64 = 1 => {"minimum": 1},
///     }
/// }
/// ```
#[macro_export]
macro_rules! object {
    ($($vis:vis struct $name:ident { $($(#[doc = $doc:literal])* $field:ident: $ty:ty $(= $default:expr)? $(=> $more:tt)?),* $(,)? })*) => { $(
        $vis struct $name { $($(#[doc = $doc])* pub $field: $ty),* }

        impl $crate::Type for $name {
            #[allow(unused_mut)]
            fn schema(closed: bool) -> $crate::Value {
                let mut fields = $crate::Fields::default();
                $(fields.add::<$ty>(stringify!($field), concat!($($doc),*), $crate::__default!($ty $(, $default)?), concat!($(stringify!($more))?), closed);)*
                fields.schema(closed)
            }
            #[allow(unused_variables)]
            fn read(v: &$crate::Value) -> ::std::result::Result<Self, ::std::string::String> {
                Ok($name { $($field: $crate::member(v, stringify!($field), $crate::__default!($ty $(, $default)?))?),* })
            }
            fn write(&self) -> $crate::Value {
                $crate::Value::object([])$(.with(stringify!($field).trim_start_matches("r#"), $crate::Type::write(&self.$field)))*
            }
        }

        impl $crate::Answer for $name {
            fn answer(self) -> ::std::result::Result<$crate::Value, $crate::Error> {
                Ok($crate::structured($crate::Type::write(&self)))
            }
            fn output() -> ::std::option::Option<$crate::Value> {
                Some(<$name as $crate::Type>::schema(false))
            }
        }
    )* };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    ($ty:ty) => { ::std::option::Option::<$ty>::None };
    ($ty:ty, $default:expr) => { ::std::option::Option::Some(<$ty>::from($default)) };
}
