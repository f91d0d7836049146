//! Echo answers with the text that it is given: a plugin of hyper-mcp's first kind, built with Extism's own PDK
//! for Rust, as most of them are. It reads as little JSON as it can, so that what is measured is the way in and out.
//!
//! echo.wasm beside Cargo.toml was made by rustc 1.95:
//!
//!     cargo build --release --target wasm32-wasip1 --locked

use extism_pdk::*;

#[plugin_fn]
pub fn describe(_: ()) -> FnResult<String> {
    Ok(concat!(
        r#"{"tools":[{"name":"echo","description":"answers with its text","#,
        r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}"#
    )
    .to_string())
}

#[plugin_fn]
pub fn call(request: String) -> FnResult<String> {
    let from = request.find(r#""text":""#).ok_or_else(|| Error::msg("no text"))? + 8;
    let to = from + request[from..].find('"').ok_or_else(|| Error::msg("no end"))?;
    Ok(format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, &request[from..to]))
}
