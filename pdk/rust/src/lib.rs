//! Sallyport plugins in Rust.
//!
//! ```
//! use sallyport::*;
//!
//! tool! {
//!     /// Greets someone.
//!     fn greet(/** who to greet */ name: String) -> String { format!("Hello, {}!", name) }
//! }
//!
//! plugin!("hello", "1.0.0", greet());
//! ```
//!
//! A plugin is a `cdylib` for wasm32-unknown-unknown. The crate has no dependencies, and needs Rust 1.63.

mod content;
mod host;
mod json;
mod plugin;
mod types;

pub use content::*;
pub use host::*;
pub use json::Value;
pub use plugin::*;
pub use types::*;

/// Makes tools of functions. The comments describe the tool and its arguments; an argument may have a default, and further
/// members of its JSON Schema, as in `object!`. The function `greet()` then returns the `Tool`.
#[macro_export]
macro_rules! tool {
    ($($(#[doc = $doc:literal])* fn $name:ident($($(#[doc = $adoc:literal])* $arg:ident: $ty:ty $(= $default:expr)? $(=> $more:tt)?),* $(,)?) -> $ret:ty $body:block)*) => { $(
        $(#[doc = $doc])*
        pub fn $name() -> $crate::Tool {
            $crate::object! { struct Arguments { $($(#[doc = $adoc])* $arg: $ty $(= $default)? $(=> $more)?),* } }
            #[allow(non_snake_case)]
            fn handle($($arg: $ty),*) -> $ret $body
            #[allow(unused_variables)]
            fn call(v: &$crate::Value) -> ::std::result::Result<$crate::Value, $crate::Error> {
                let a: Arguments = $crate::arguments(v)?;
                $crate::Answer::answer(handle($(a.$arg),*))
            }
            $crate::Tool::new(stringify!($name), concat!($($doc),*), <Arguments as $crate::Type>::schema, <$ret as $crate::Answer>::output, call)
        }
    )* };
}

/// Makes prompts of functions, whose arguments are `String` or `Option<String>`. The function `review()` then returns the
/// `Prompt`.
#[macro_export]
macro_rules! prompt {
    ($($(#[doc = $doc:literal])* fn $name:ident($($(#[doc = $adoc:literal])* $arg:ident: $ty:ty $(= $default:expr)?),* $(,)?) -> $ret:ty $body:block)*) => { $(
        $(#[doc = $doc])*
        pub fn $name() -> $crate::Prompt {
            $crate::object! { struct Arguments { $($(#[doc = $adoc])* $arg: $ty $(= $default)?),* } }
            fn handle($($arg: $ty),*) -> $ret $body
            #[allow(unused_variables)]
            fn get(v: &$crate::Value) -> ::std::result::Result<::std::vec::Vec<$crate::Message>, $crate::Error> {
                let a: Arguments = $crate::arguments(v)?;
                $crate::Messages::messages(handle($(a.$arg),*))
            }
            $crate::Prompt::new(stringify!($name), concat!($($doc),*), <Arguments as $crate::Type>::schema, get)
        }
    )* };
}

/// Makes the module's plugin: its name, its version, and its tools, resources, prompts and wants.
#[macro_export]
macro_rules! plugin {
    ($name:expr, $version:expr $(, $item:expr)* $(,)?) => {
        #[no_mangle]
        pub extern "C" fn mcp_handle(_size: i32) -> i32 {
            $crate::serve(&$crate::Plugin::new($name, $version)$(.add($item))*)
        }
    };
}
