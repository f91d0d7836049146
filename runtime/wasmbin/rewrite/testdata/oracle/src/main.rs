//! A second decoder and validator of WebAssembly, for tests. Each request on standard input is a letter, a length of four
//! bytes and a module; each answer is a length and a text.
//!
//!   v  whether the module, of WebAssembly 2.0 with exceptions, extended constants and tail calls, is valid: nothing, or the reason why not
//!   p  the same without the first two
//!   d  each instruction of its code, a line each: offset, operator with operands; "function" before each body;
//!      a problem ends the answer with "error" and the reason

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

const FEATURES: WasmFeatures = WasmFeatures::WASM2.union(WasmFeatures::EXCEPTIONS).union(WasmFeatures::EXTENDED_CONST).union(WasmFeatures::TAIL_CALL);

fn decode(wasm: &[u8], out: &mut String) -> wasmparser::Result<()> {
    let mut parser = Parser::new(0);
    parser.set_features(FEATURES);
    for payload in parser.parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload? {
            writeln!(out, "function").unwrap();
            for local in body.get_locals_reader()? {
                local?;
            }
            let mut ops = body.get_operators_reader()?;
            while !ops.eof() {
                let (op, at) = ops.read_with_offset()?;
                writeln!(out, "{at} {op:?}").unwrap();
            }
            ops.finish()?;
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut head = [0u8; 5];
    while input.read_exact(&mut head).is_ok() {
        let mut wasm = vec![0; u32::from_le_bytes(head[1..].try_into().unwrap()) as usize];
        input.read_exact(&mut wasm)?;
        let mut text = String::new();
        if head[0] != b'd' {
            let features = if head[0] == b'v' { FEATURES } else { WasmFeatures::WASM2.union(WasmFeatures::TAIL_CALL) };
            if let Err(e) = Validator::new_with_features(features).validate_all(&wasm) {
                text = e.to_string();
            }
        } else if let Err(e) = decode(&wasm, &mut text) {
            writeln!(text, "error {e}").unwrap();
        }
        output.write_all(&(text.len() as u32).to_le_bytes())?;
        output.write_all(text.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}
