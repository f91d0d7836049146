// The plugin of pdk/scenario in AssemblyScript: each library for authors has one, and all answer alike.
import {
  Request, Value, assistant, audio, blob, bytes, config, contents, embed, fitting, flag, image, int, link, obj, plugin, prompt, resource, str, text, texts, tool,
  user, want,
} from "../sallyport";

plugin("scenario", "1.0.0", "Answers the scenario.");
want("kv", '"1MiB"', "counts visits");

const motto = "once, or said so";
const dot = bytes([0, 1, 2, 253, 254, 255]);

tool("hello", "Greets someone.", [str("name", "who to greet")], (c) => text(`Hello, ${c.str("name")}!`)).readOnly();

const address = [str("street"), int("floor").or("0")];
const line = [str("item").among(["espresso", "filter"]), int("count").or("1").also("minimum", "1")];

tool("order", "Takes an order.", [obj("to", address), obj("lines", line).many(), flag("express").or("false")], (c) => {
  const items: string[] = [], lines = c.list("lines"), to = c.get("to");
  for (let i = 0; i < lines.length; i++) items.push(`${lines[i].int("count")} ${lines[i].str("item")}`);
  return text(`${items.join(", ")} to ${to.str("street")}, floor ${to.int("floor")}${c.flag("express") ? ", express" : ""}`);
});

tool("sum", "Adds numbers.", [int("numbers").many()], (c) => {
  const numbers = c.list("numbers");
  let total: i64 = 0;
  for (let i = 0; i < numbers.length; i++) total += numbers[i].asInt();
  return Value.object().set("count", Value.int(numbers.length)).set("total", Value.int(total)).set("even", Value.bool(total % 2 == 0));
}).returns([int("count"), int("total"), flag("even")]);

tool("contents", "Has a block of each kind.", [], (c) => Value.array([
  text("größer <&> \"quoted\"\n"),
  image(dot, "image/png"),
  audio(dot.subarray(0, 4), "audio/wav"),
  link("scenario://motto", "motto"),
  embed(contents(motto, "scenario://motto", "text/plain")),
  embed(blob(dot.subarray(0, 5), "scenario://dot", "image/png")),
]));

tool("fail", "Fails.", [], (c) => c.fail("the tool says no"));

tool("ask", "Asks the person.", [], (c) => {
  const a = c.elicit("Which colour, and how many?", [str("colour").among(["red", "green"]), int("count")]);
  if (a === null) return c.refused.length ? null : text(c.declined ? "declined" : "dismissed");
  return text(`${a.int("count")} × ${a.str("colour")}`);
});

tool("think", "Asks the model.", [], (c) => {
  const a = c.sample("Why?", 50);
  return a === null ? null : text(`${a.str("model")} says: ${texts(a)}`);
});

tool("roots", "Lists the client's folders.", [], (c) => {
  const roots = c.roots();
  if (roots === null) return null;
  const uris: string[] = [];
  for (let i = 0; i < roots.length; i++) uris.push(roots[i].str("uri"));
  return text(uris.join(" "));
});

tool("fetch", "Gets a page.", [str("path")], (c) => {
  const r = c.fetch(config("WEB") + c.str("path"));
  return r === null ? null : text(`${r.status} ${r.text()}`);
});

tool("post", "Sends a text.", [], (c) => {
  const r = c.send(new Request("POST", config("WEB") + "/echo").header("Content-Type", "text/plain").body("größer"));
  return r === null ? null : text(r.text());
});

tool("forbidden", "Asks for a page that no grant allows.", [], (c) => {
  const r = c.fetch("https://example.com/");
  return r === null ? null : text(r.text());
});

tool("refused", "Tells how the host refuses.", [str("kind").among(["denied", "invalid", "unsupported", "unavailable", "timeout", "limit", "conflict"])], (c) => {
  const kind = c.str("kind");
  if (kind == "denied") c.fetch("https://example.com/");
  if (kind == "invalid") c.kvGet("");
  if (kind == "unsupported") c.ask("no/such", null);
  if (kind == "unavailable") c.fetch(config("WEB") + "/broken");
  if (kind == "timeout") c.ask("http/fetch", Value.object().set("method", Value.str("GET")).set("url", Value.str(config("WEB") + "/slow")).set("timeoutMs", Value.int(50)));
  if (kind == "limit") c.sample("Why?", 5000);
  if (kind == "conflict") c.kvSetIf("never", Value.int(1), 7);
  const message = c.message;
  if (message === null) return text("not refused");
  return text(`${c.refused}: ${message}` + (c.hint.length ? ` [${c.hint}]` : ""));
});

tool("visit", "Counts visits.", [flag("again").or("false")], (c) => {
  if (!c.flag("again") && !c.kvDelete("visits")) return null;
  const was = c.kvGet("visits");
  if (was === null) return null;
  const n = was.value.asInt() + 1;
  return c.kvSet("visits", Value.int(n)) ? text(`visit ${n}`) : null;
});

tool("keys", "Keeps many keys.", [], (c) => {
  for (let i = 0; i < 1001; i++) if (!c.kvSet(`key/${i}`, Value.int(i))) return null;
  const all = c.kvList("key/");
  return all === null ? null : text(`${all.length} keys, ${all[0]} to ${all[all.length - 1]}`);
});

tool("news", "Tells of changes.", [flag("show").or("false")], (c) => {
  if (c.flag("show")) c.show("tools", ["post"]);
  else c.hide("tools", ["post"]);
  c.resourceUpdated("scenario://motto");
  return text("told");
});

tool("steps", "Reports progress.", [], (c) => {
  c.release();
  c.progress(1, 2, "half");
  c.log("warning", Value.object().set("step", Value.int(1)));
  c.progress(2, 2);
  return text("done");
});

tool("twice", "Calls hello.", [str("name", "who to greet")], (c) => {
  const once = c.callTool("hello", c.args);
  return once === null ? null : text(`${texts(once)} ${texts(once)}`);
});

tool("nested", "Calls fail.", [], (c) => c.callTool("fail", Value.object()));

resource("scenario://motto", "motto", "A text.", (c) => text(motto)).mimeType("text/plain");
resource("scenario://dot", "dot", "Some bytes.", (c) => blob(dot)).mimeType("image/png");
resource("scenario://city/{name}", "city", "A city.", (c) => c.str("name") == "nowhere" ? c.notFound() : text(`The city of ${c.str("name")}`)).mimeType("text/plain")
  .complete("name", (c) => fitting(["Paris", "São Paulo", "São Tomé"], c));

prompt("review", "Asks for a review.", [str("file", "what to look at"), str("tone").optional()], (c) => {
  const tone = c.has("tone") ? ` Be ${c.str("tone")}.` : "";
  return Value.array([user(text(`Review ${c.str("file")}.${tone}`)), assistant(text(`I begin with ${c.str("file")}.`))]);
}).complete("tone", (c) => {
  const all = ["kind", "strict", "stern"], others = c.get("arguments");
  if (others.has("file")) all.push(`${c.str("argument")} of ${c.str("of")} for ${others.str("file")}`);
  return fitting(all, c);
});
