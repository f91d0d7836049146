//! Echo answers with the text that it is given, in Sallyport's own dialect and without a PDK. With
//! "work" in its arguments it first counts that many words in a map, as tools do.
//!
//! echo.wasm beside it was made of this file by rustc 1.95:
//!
//!     rustc --edition 2021 --target wasm32-wasip1 --crate-type cdylib \
//!         -C opt-level=3 -C lto -C panic=abort -C strip=symbols -o echo.wasm echo.rs

use std::collections::HashMap;

#[link(wasm_import_module = "sallyport")]
extern "C" {
    fn read(stream: i32, ptr: *mut u8, len: i32) -> i32;
    fn write(stream: i32, ptr: *const u8, len: i32) -> i32;
}

const DESCRIPTION: &str = concat!(
    r#"{"result":{"name":"echo","tools":[{"name":"echo","description":"answers with its text","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}"#
);

/// What follows a key, up to a byte.
fn after<'a>(text: &'a str, key: &str, end: char) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    Some(&rest[..rest.find(end)?])
}

fn count_words(n: usize) -> usize {
    let mut words: HashMap<String, usize> = HashMap::new();
    for i in 0..n {
        *words.entry(format!("word {}", i % 97)).or_default() += i;
    }
    words.values().sum()
}

fn answer(request: &str) -> String {
    let Some(text) = after(request, r#""text":""#, '"') else {
        return DESCRIPTION.to_string();
    };
    let work = after(request, r#""work":"#, ',').and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut out = String::with_capacity(text.len() + 80);
    out.push_str(r#"{"result":{"content":[{"type":"text","text":""#);
    out.push_str(text);
    out.push_str(r#""}],"_meta":{"count":"#);
    out.push_str(&count_words(work).to_string());
    out.push_str("}}}");
    out
}

#[no_mangle]
pub extern "C" fn mcp_handle(size: i32) -> i32 {
    let mut request = vec![0u8; size as usize];
    let mut at = 0;
    while at < request.len() {
        let n = unsafe { read(0, request[at..].as_mut_ptr(), (request.len() - at) as i32) };
        if n <= 0 {
            return 1;
        }
        at += n as usize;
    }
    let Ok(request) = std::str::from_utf8(&request) else {
        return 1;
    };
    let out = answer(request);
    let n = unsafe { write(1, out.as_ptr(), out.len() as i32) };
    i32::from(n != out.len() as i32)
}
