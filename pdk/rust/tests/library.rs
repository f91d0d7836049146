use sallyport::*;

object! {
    struct Inner { n: u8 = 7u8, r#type: Option<String> }
    struct Outer { /** the list */ list: Vec<Inner>, one: Inner }
}

tool! {
    /// Counts.
    fn count(outer: Outer, times: f64 = 1.5) -> Result<String> {
        let all: Vec<String> = outer.list.iter().map(|i| format!("{}{:?}", i.n, i.r#type)).collect();
        Ok(format!("{} {} {}", all.join(","), outer.one.n, times))
    }

    /// Asks.
    fn refused() -> Result<String> { Ok(fetch("https://example.com/")?.text()) }
}

fn called(args: &str) -> String {
    match count().call(&Value::parse(args).unwrap()) {
        Ok(v) => texts(&v),
        Err(e) => format!("error: {}", e),
    }
}

#[test]
fn defaults_apply_at_every_depth() {
    assert_eq!(called(r#"{"outer":{"list":[{},{"n":2.0,"type":"x"}],"one":{}}}"#), "7None,2Some(\"x\") 7 1.5");
}

#[test]
fn misfits_name_their_place() {
    assert_eq!(called(r#"{"outer":{"list":[{},{"n":300}],"one":{}}}"#), "error: argument outer.list[1].n cannot be a JSON number");
    assert_eq!(called(r#"{"outer":{"list":{},"one":{}}}"#), "error: argument outer.list cannot be a JSON object");
    assert_eq!(called(r#"{"outer":{"list":[]}}"#), "error: argument outer.one is missing");
}

#[test]
fn schemas_close_arguments_and_leave_results_open() {
    let inner = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":0,"default":7},"type":{"type":"string"}}"#;
    assert_eq!(Inner::schema(true).to_string(), inner.to_string() + r#","additionalProperties":false}"#);
    assert_eq!(Inner::schema(false).to_string(), inner.to_string() + "}");
    assert!(Outer::schema(true).to_string().contains(r#""description":"the list""#));
}

#[test]
fn json_reads_every_escape_and_refuses_what_is_none() {
    let v = Value::parse(r#" {"a\u00e9":["\ud83d\ude00\"\\\/\b\f\n\r\t","\ud800x","\ud800\u0041"],"n":-1.5e3,"t":[true,false,null,{},[]]} "#).unwrap();
    assert_eq!(v.get("aé").list()[0].text(), "😀\"\\/\u{8}\u{c}\n\r\t");
    assert_eq!(v.get("aé").list()[1].text(), "\u{fffd}x");
    assert_eq!(v.get("aé").list()[2].text(), "\u{fffd}A");
    assert_eq!(v.get("n").integer(), Some(-1500));
    assert_eq!(Value::parse(&v.to_string()).unwrap(), v);
    for bad in ["", "{", "[1", "[1 2]", "\"", "\"\\", "\"\\u12", "{\"a\"}", "{1:2}", "nul", "1.2.3", "[]]", &"[".repeat(600)] {
        assert!(Value::parse(bad).is_err(), "{}", bad);
    }
}

#[test]
fn without_a_host_each_request_is_refused() {
    match refused().call(&Value::object([])) {
        Err(e) => assert_eq!(e.kind(), "unavailable"),
        Ok(v) => panic!("got {}, want a refusal", v),
    }
}
