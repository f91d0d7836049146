//! A plugin with the three tools of the comparison, in Sallyport's own ABI and without a PDK: the work of
//! cmd/bench/internal/workload, in Rust. `make tools-guest` builds tools.wasm beside Cargo.toml of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[link(wasm_import_module = "sallyport")]
extern "C" {
    fn read(stream: i32, ptr: *mut u8, len: i32) -> i32;
    fn write(stream: i32, ptr: *const u8, len: i32) -> i32;
}

const DESCRIPTION: &str = r#"{"result":{"name":"tools","tools":[
{"name":"echo","description":"answers with its text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
{"name":"report","description":"totals sales by region","inputSchema":{"type":"object","properties":{"title":{"type":"string"},"sales":{"type":"array"}}}},
{"name":"sha","description":"digests 64 KiB","inputSchema":{"type":"object","properties":{"seed":{"type":"integer"}}}}]}}"#;

#[derive(Deserialize)]
struct Request<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct EchoArgs {
    text: String,
}

#[derive(Deserialize)]
struct ShaArgs {
    seed: i64,
}

#[derive(Deserialize)]
struct Sale {
    region: String,
    product: String,
    quantity: i64,
    price: f64,
    note: Option<String>,
}

#[derive(Deserialize)]
struct ReportArgs {
    title: String,
    sales: Vec<Sale>,
}

#[derive(Serialize, Default)]
struct Region {
    name: String,
    sales: usize,
    quantity: i64,
    revenue: f64,
    products: BTreeMap<String, i64>,
    best: String,
}

#[derive(Serialize)]
struct Report {
    title: String,
    regions: Vec<Region>,
    total: f64,
    summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct ToolResult<'a> {
    content: [Content<'a>; 1],
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    structured: Option<&'a Report>,
}

#[derive(Serialize)]
struct Answer<'a> {
    result: ToolResult<'a>,
}

fn total(a: ReportArgs) -> Result<Report, String> {
    let mut by_name: BTreeMap<String, Region> = BTreeMap::new();
    let (mut total, mut notes, count) = (0.0, Vec::new(), a.sales.len());
    for s in a.sales {
        if s.quantity < 0 {
            return Err(format!("a sale of {} {}", s.quantity, s.product));
        }
        let revenue = s.price * s.quantity as f64;
        let r = by_name.entry(s.region).or_default();
        r.sales += 1;
        r.quantity += s.quantity;
        r.revenue += revenue;
        *r.products.entry(s.product).or_default() += s.quantity;
        total += revenue;
        notes.extend(s.note);
    }
    let mut regions: Vec<Region> = by_name
        .into_iter()
        .map(|(name, mut r)| {
            let most = r.products.values().copied().max().unwrap_or(0);
            r.best = r.products.iter().find(|p| *p.1 == most).map(|p| p.0.clone()).unwrap_or_default();
            r.name = name;
            r
        })
        .collect();
    regions.sort_by(|a, b| b.revenue.total_cmp(&a.revenue).then_with(|| a.name.cmp(&b.name)));
    let summary = format!("{} sales in {} regions, {:.2} in all", count, regions.len(), total);
    Ok(Report { title: a.title, regions, total, summary, notes })
}

fn digest(a: ShaArgs) -> String {
    let data: Vec<u8> = (0..64i64 << 10).map(|i| (i * 31 + a.seed) as u8).collect();
    Sha256::digest(&data).iter().map(|b| format!("{:02x}", b)).collect()
}

fn answer(text: &str, structured: Option<&Report>) -> Result<String, String> {
    let result = ToolResult { content: [Content { r#type: "text", text }], structured };
    serde_json::to_string(&Answer { result }).map_err(|e| e.to_string())
}

fn arguments<'a, T: Deserialize<'a>>(params: &Params<'a>) -> Result<T, String> {
    serde_json::from_str(params.arguments.map_or("{}", |a| a.get())).map_err(|e| e.to_string())
}

fn serve(request: &[u8]) -> Result<String, String> {
    let r: Request = serde_json::from_slice(request).map_err(|e| e.to_string())?;
    let params = match (r.method, r.params) {
        ("tools/call", Some(params)) => params,
        _ => return Ok(DESCRIPTION.to_string()),
    };
    match params.name {
        Some("echo") => answer(&arguments::<EchoArgs>(&params)?.text, None),
        Some("sha") => answer(&digest(arguments(&params)?), None),
        Some("report") => {
            let report = total(arguments(&params)?)?;
            let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
            answer(&text, Some(&report))
        }
        other => Err(format!("no tool {:?}", other)),
    }
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
    match serve(&request) {
        Ok(out) => i32::from(unsafe { write(1, out.as_ptr(), out.len() as i32) } != out.len() as i32),
        Err(_) => 1,
    }
}
