//! The plugin of pdk/scenario in Rust: each library for authors has one, and all answer alike.
use sallyport::*;

object! {
    struct Address { street: String, floor: i64 = 0 }
    struct Line { item: String => {"enum": ["espresso", "filter"]}, count: i64 = 1 => {"minimum": 1} }
    struct Totals { count: i64, total: i64, even: bool }
    struct Choice { colour: String => {"enum": ["red", "green"]}, count: i64 }
}

const MOTTO: &str = "once, or said so";
const DOT: &[u8] = &[0, 1, 2, 253, 254, 255];

fn web(path: &str) -> String {
    config("WEB").unwrap_or_default() + path
}

tool! {
    /// Greets someone.
    fn hello(/** who to greet */ name: String) -> String { format!("Hello, {}!", name) }

    /// Takes an order.
    fn order(to: Address, lines: Vec<Line>, express: bool = false) -> String {
        let items: Vec<String> = lines.iter().map(|l| format!("{} {}", l.count, l.item)).collect();
        format!("{} to {}, floor {}{}", items.join(", "), to.street, to.floor, if express { ", express" } else { "" })
    }

    /// Adds numbers.
    fn sum(numbers: Vec<i64>) -> Totals {
        let total = numbers.iter().sum();
        Totals { count: numbers.len() as i64, total, even: total % 2 == 0 }
    }

    /// Has a block of each kind.
    fn contents() -> Vec<Content> {
        vec![
            text("größer <&> \"quoted\"\n"),
            image(DOT, "image/png"),
            audio(&DOT[..4], "audio/wav"),
            link("scenario://motto", "motto"),
            embed(Contents::text(MOTTO).uri("scenario://motto").mime_type("text/plain")),
            embed(Contents::blob(&DOT[..5]).uri("scenario://dot").mime_type("image/png")),
        ]
    }

    /// Fails.
    fn fail() -> Result<String> { Err("the tool says no".into()) }

    /// Asks the person.
    fn ask() -> Result<String> {
        Ok(match elicit::<Choice>("Which colour, and how many?")? {
            Elicited::Accepted(a) => format!("{} × {}", a.count, a.colour),
            Elicited::Declined => "declined".into(),
            Elicited::Dismissed => "dismissed".into(),
        })
    }

    /// Asks the model.
    fn think() -> Result<String> {
        let a = sample("Why?", 50)?;
        Ok(format!("{} says: {}", a.model, a.text))
    }

    /// Lists the client's folders.
    fn folders() -> Result<String> {
        Ok(roots()?.into_iter().map(|r| r.uri).collect::<Vec<_>>().join(" "))
    }

    /// Gets a page.
    fn page(path: String) -> Result<String> {
        let r = fetch(&web(&path))?;
        Ok(format!("{} {}", r.status, r.text()))
    }

    /// Sends a text.
    fn post() -> Result<String> {
        Ok(Request::new("POST", &web("/echo")).header("Content-Type", "text/plain").body("größer").send()?.text())
    }

    /// Asks for a page that no grant allows.
    fn forbidden() -> Result<String> {
        fetch("https://example.com/").map(|r| r.text())
    }

    /// Tells how the host refuses.
    fn refused(kind: String => {"enum": ["denied", "invalid", "unsupported", "unavailable", "timeout", "limit", "conflict"]}) -> Result<String> {
        match request(&kind) {
            Err(Error::Refused { kind, message, hint, .. }) if hint.is_empty() => Ok(format!("{}: {}", kind, message)),
            Err(Error::Refused { kind, message, hint, .. }) => Ok(format!("{}: {} [{}]", kind, message, hint)),
            other => other.map(|_| "not refused".into()),
        }
    }

    /// Counts visits.
    fn visit(again: bool = false) -> Result<String> {
        if !again {
            kv_delete("visits")?;
        }
        let n = kv_get::<i64>("visits")?.unwrap_or(0) + 1;
        kv_set("visits", &n)?;
        Ok(format!("visit {}", n))
    }

    /// Keeps many keys.
    fn keys() -> Result<String> {
        for i in 0..1001 {
            kv_set(&format!("key/{}", i), &i)?;
        }
        let all = kv_list("key/")?;
        Ok(format!("{} keys, {} to {}", all.len(), all[0], all[all.len() - 1]))
    }

    /// Tells of changes.
    fn news(show: bool = false) -> String {
        if show {
            sallyport::show("tools", &["post"]);
        } else {
            hide("tools", &["post"]);
        }
        resource_updated("scenario://motto");
        "told".into()
    }

    /// Reports progress.
    fn steps() -> String {
        release();
        progress(1.0, 2.0, "half");
        log("warning", Value::object([("step", 1.into())]));
        progress(2.0, 2.0, "");
        "done".into()
    }

    /// Calls hello.
    fn twice(/** who to greet */ name: String) -> Result<String> {
        let once = texts(&call_tool("hello", Value::object([("name", name.into())]))?);
        Ok(format!("{} {}", once, once))
    }

    /// Calls fail.
    fn nested() -> Result<String> {
        call_tool("fail", Value::object([])).map(|r| texts(&r))
    }
}

prompt! {
    /// Asks for a review.
    fn review(/** what to look at */ file: String, tone: Option<String>) -> Vec<Message> {
        let tone = tone.map_or(String::new(), |t| format!(" Be {}.", t));
        vec![user(format!("Review {}.{}", file, tone)), assistant(format!("I begin with {}.", file))]
    }
}

fn request(kind: &str) -> Result<()> {
    match kind {
        "denied" => fetch("https://example.com/").map(drop),
        "invalid" => kv_get::<i64>("").map(drop),
        "unsupported" => sallyport::ask("no/such", Value::Null).map(drop),
        "unavailable" => fetch(&web("/broken")).map(drop),
        "timeout" => sallyport::ask("http/fetch", Value::object([("method", "GET".into()), ("url", web("/slow").into()), ("timeoutMs", 50.into())])).map(drop),
        "limit" => sample("Why?", 5000).map(drop),
        _ => kv_set_if("never", &1, 7),
    }
}

fn tones(typed: &Typed) -> Vec<String> {
    let beside = typed.chosen("file").map(|file| format!("{} of {} for {}", typed.argument, typed.of, file));
    let mut all = vec!["kind", "strict", "stern"];
    all.extend(beside.as_deref());
    typed.fitting(&all)
}

fn city(v: &Vars) -> Result<String> {
    match v.get("name") {
        "nowhere" => Err(Error::not_found()),
        name => Ok(format!("The city of {}", name)),
    }
}

plugin!(
    "scenario",
    "1.0.0",
    Description("Answers the scenario."),
    hello().read_only(),
    order(),
    sum(),
    contents(),
    fail(),
    crate::ask(),
    think(),
    folders().with("name", "roots"),
    page().with("name", "fetch"),
    post(),
    forbidden(),
    refused(),
    visit(),
    keys(),
    news(),
    steps(),
    twice(),
    nested(),
    resource("scenario://motto", "motto", "A text.", |_| Ok(MOTTO)).mime_type("text/plain"),
    resource("scenario://dot", "dot", "Some bytes.", |_| Ok(DOT)).mime_type("image/png"),
    resource("scenario://city/{name}", "city", "A city.", city).mime_type("text/plain").complete("name", |typed| typed.fitting(&["Paris", "São Paulo", "São Tomé"])),
    review().complete("tone", tones),
    want("kv", "1MiB", "counts visits"),
);
