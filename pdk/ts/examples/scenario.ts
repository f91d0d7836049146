// The plugin of pdk/scenario in TypeScript: each library for authors has one, and all answer alike.
import { ask, audio, callTool, config, elicit, embed, HostError, image, kv, link, log, plugin, progress, prompt, release, resource, resourceUpdated, roots, sample, text, tool, ToolError, toolsChanged, want } from "sallyport";

plugin({ name: "scenario", version: "1.0.0", description: "Answers the scenario." });
want("kv", "1MiB", "counts visits");

tool({
  name: "hello", description: "Greets someone.", readOnly: true, input: { name: "string who to greet" },
  handler: ({ name }) => `Hello, ${name}!`,
});

// A JSON Schema, since the short form has no defaults and no minimum.
const object = (properties: object, required: string[]) =>
  ({ type: "object", properties, ...(required.length ? { required } : {}), additionalProperties: false }) as const;
const address = object({ street: { type: "string" }, floor: { type: "integer", default: 0 } }, ["street"]);
const line = object({ item: { type: "string", enum: ["espresso", "filter"] }, count: { type: "integer", minimum: 1, default: 1 } }, ["item"]);

tool("order", "Takes an order.", object({ to: address, lines: { type: "array", items: line }, express: { type: "boolean", default: false } }, ["to", "lines"]), ({ to, lines, express }) => {
  const items = lines.map((l: { item: string; count: number }) => `${l.count} ${l.item}`);
  return `${items.join(", ")} to ${to.street}, floor ${to.floor}${express ? ", express" : ""}`;
});

tool({
  name: "sum", description: "Adds numbers.", input: { numbers: "integer[]" },
  outputSchema: { type: "object", properties: { count: { type: "integer" }, total: { type: "integer" }, even: { type: "boolean" } }, required: ["count", "total", "even"] },
  handler: ({ numbers }) => {
    const total = numbers.reduce((a, b) => a + b, 0);
    return { count: numbers.length, total, even: total % 2 === 0 };
  },
});

const motto = "once, or said so";
const dot = new Uint8Array([0, 1, 2, 253, 254, 255]);

tool("contents", "Has a block of each kind.", {}, () => [
  text('größer <&> "quoted"\n'),
  image(dot),
  audio(dot.slice(0, 4)),
  link("scenario://motto", "motto"),
  embed({ uri: "scenario://motto", mimeType: "text/plain", text: motto }),
  embed({ uri: "scenario://dot", mimeType: "image/png", blob: dot.slice(0, 5) }),
]);

tool("fail", "Fails.", {}, () => {
  throw new ToolError("the tool says no");
});

tool("ask", "Asks the person.", {}, async () => {
  const a = await elicit("Which colour, and how many?", { colour: ["red", "green"], count: "integer" });
  if (a) return `${a.count} × ${a.colour}`;
  return a === null ? "declined" : "dismissed";
});

tool("think", "Asks the model.", {}, async () => {
  const a = await sample("Why?", { maxTokens: 50 });
  return `${a.model} says: ${a.text}`;
});

tool("roots", "Lists the client's folders.", {}, async () => (await roots()).map((r) => r.uri).join(" "));

tool("fetch", "Gets a page.", { path: "string" }, async ({ path }) => {
  const r = await fetch(config("WEB", "") + path);
  return `${r.status} ${await r.text()}`;
});

tool("post", "Sends a text.", {}, async () => {
  const r = await fetch(config("WEB", "") + "/echo", { method: "POST", headers: { "Content-Type": "text/plain" }, body: "größer" });
  return r.text();
});

tool("forbidden", "Asks for a page that no grant allows.", {}, async () => {
  await fetch("https://example.com/");
});

const requests: Record<string, () => Promise<unknown>> = {
  denied: () => fetch("https://example.com/"),
  invalid: () => kv.get(""),
  unsupported: () => ask("no/such"),
  unavailable: () => fetch(config("WEB", "") + "/broken"),
  timeout: () => ask("http/fetch", { method: "GET", url: config("WEB", "") + "/slow", timeoutMs: 50 }),
  limit: () => sample("Why?", { maxTokens: 5000 }),
  conflict: () => kv.set("never", 1, { ifVersion: 7 }),
};

tool("refused", "Tells how the host refuses.", { kind: Object.keys(requests) }, async ({ kind }) => {
  try {
    await requests[kind]();
    return "not refused";
  } catch (e) {
    if (!(e instanceof HostError)) throw e;
    return `${e.kind}: ${e.message}${e.hint ? ` [${e.hint}]` : ""}`;
  }
});

tool("visit", "Counts visits.", object({ again: { type: "boolean", default: false } }, []), async ({ again }) => {
  if (!again) await kv.delete("visits");
  const n = ((await kv.get("visits")) ?? 0) + 1;
  await kv.set("visits", n);
  return `visit ${n}`;
});

tool("keys", "Keeps many keys.", {}, async () => {
  for (let i = 0; i < 1001; i++) await kv.set(`key/${i}`, i);
  const all: string[] = [];
  for (let more: boolean | undefined = true; more; ) {
    const page = await kv.list({ prefix: "key/", after: all.at(-1) });
    all.push(...page.keys.map((k) => k.key));
    more = page.more;
  }
  return `${all.length} keys, ${all[0]} to ${all.at(-1)}`;
});

tool("news", "Tells of changes.", object({ show: { type: "boolean", default: false } }, []), ({ show }) => {
  toolsChanged(show ? { show: ["post"] } : { hide: ["post"] });
  resourceUpdated("scenario://motto");
  return "told";
});

tool("steps", "Reports progress.", {}, () => {
  release();
  progress(1, 2, "half");
  log("warning", { step: 1 });
  progress(2, 2);
  return "done";
});

tool("twice", "Calls hello.", { name: "string who to greet" }, async ({ name }) => {
  const { content } = await callTool("hello", { name });
  const once = content.map((c) => (c.type === "text" ? c.text : "")).join("");
  return `${once} ${once}`;
});

tool("nested", "Calls fail.", {}, () => callTool("fail"));

resource({ uri: "scenario://motto", name: "motto", description: "A text.", mimeType: "text/plain", handler: () => motto });
resource({ uri: "scenario://dot", name: "dot", description: "Some bytes.", mimeType: "image/png", handler: () => dot });
resource({
  uri: "scenario://city/{name}", name: "city", description: "A city.", mimeType: "text/plain",
  complete: { name: ["Paris", "São Paulo", "São Tomé"] },
  handler: ({ name }) => (name === "nowhere" ? undefined : `The city of ${name}`),
});

prompt({
  name: "review", description: "Asks for a review.", arguments: { file: "what to look at", tone: "?" },
  complete: {
    tone: (typed, { file }, { argument, name }) => ["kind", "strict", "stern", ...(file ? [`${argument} of ${name} for ${file}`] : [])].filter((t) => t.startsWith(typed)),
  },
  handler: ({ file, tone }) => [
    { role: "user", content: `Review ${file}.${tone ? ` Be ${tone}.` : ""}` },
    { role: "assistant", content: `I begin with ${file}.` },
  ],
});
