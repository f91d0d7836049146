"use strict";
// The token came in the fragment, which no server sees. It is kept for this tab and taken off the address.
const fragment = location.hash.slice(1);
if (fragment) {
  sessionStorage.setItem("token", fragment);
  history.replaceState(null, "", "/");
}
const token = sessionStorage.getItem("token") || "";

// el makes an element. What plugins say is only ever its text.
function el(tag, className, ...inside) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...inside);
  return e;
}

async function ask(path, body) {
  const init = { headers: { Authorization: "Bearer " + token }, cache: "no-store" };
  if (body) {
    init.method = "POST";
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const r = await fetch(path, init);
  if (!r.ok) throw new Error((await r.text()).trim());
  return r.json();
}

function status(text, lost) {
  const s = document.getElementById("status");
  s.textContent = text;
  s.className = lost ? "lost" : "";
}

// What moves under the hand takes no click for a moment: the second one of a double click was meant for what was there.
const settle = 700;
let moved = -settle;

// body is what a click sends, or makes it; failed is told what the host says against it.
function button(label, className, body, failed) {
  const b = el("button", className, label);
  b.type = "button";
  b.addEventListener("click", async () => {
    if (performance.now() - moved < settle) return;
    const all = b.parentElement.querySelectorAll("button");
    for (const other of all) other.disabled = true;
    try {
      await ask("/answer", typeof body === "function" ? body() : body);
    } catch (err) {
      if (failed) failed(err.message); else status(err.message, true);
      for (const other of all) other.disabled = !failed;
    }
    look();
  });
  return b;
}

function clock(text) {
  return new Date(text).toLocaleTimeString();
}

function question(q) {
  const card = el("article", "card question");
  card.append(el("p", "", el("strong", "", q.plugin), " wants to ", el("code", "", q.effect)));
  if (q.why) card.append(el("p", "says soft", "it says: " + q.why));
  card.append(el("p", "soft small", "for " + q.principal + ", since " + clock(q.asked) + ", " + q.digest.slice(0, 19)));
  card.append(el("p", "small", "allows ", el("code", "", q.line)));
  const answer = (label, kind, word, want) => button(label, kind, { id: q.id, answer: word, want: want });
  card.append(el("div", "buttons", answer("Once", "allow", "once", false), answer("For an hour", "allow", "hour", false),
    answer("Always", "allow", "always", false), answer("Refuse", "deny", "deny", false)));
  if (q.want && q.want !== q.line) {
    card.append(el("p", "small", "or all that it announced: ", el("code", "", q.want)));
    card.append(el("div", "buttons", answer("All of it for an hour", "", "hour", true), answer("All of it always", "", "always", true)));
  }
  return card;
}

// input is the place for one value; its read gives what is typed there, a list of texts.
function input(f) {
  const given = f.default || [];
  const pick = (c) => {
    const o = el("option", "", c.title && c.title !== c.value ? c.title + " (" + c.value + ")" : c.value);
    o.value = c.value;
    o.selected = given.includes(c.value);
    return o;
  };
  let e;
  if (f.choices || f.type === "boolean") {
    e = el("select");
    const choices = f.choices || [{ value: "true" }, { value: "false" }];
    if (f.type === "array") e.multiple = true; else e.append(pick({ value: "" }));
    e.append(...choices.map(pick));
    return [e, () => [...e.selectedOptions].map((o) => o.value).filter((v) => v !== "")];
  }
  e = el("input");
  e.type = "text";
  e.value = given[0] || "";
  if (f.type === "number" || f.type === "integer") e.inputMode = "decimal";
  return [e, () => (e.value === "" && !f.required ? [] : [e.value])];
}

// form is what a plugin asks. All that it says stands in a box that says whose words they are.
function form(f) {
  const card = el("article", "card question");
  card.append(el("p", "", el("strong", "", f.plugin), " asks you. What is in the box are the plugin's words, not Sallyport's:"));
  const words = el("div", "words");
  for (const line of f.message.split("\n")) words.append(el("p", "", line));
  if (f.url) words.append(el("p", "", "to open: ", el("code", "", f.url)));
  const reads = [];
  for (const field of f.fields || []) {
    const [e, read] = input(field);
    const label = el("label", "field", el("span", "", (field.title || field.name) + (field.required ? " *" : "")), e);
    if (field.description) label.append(el("span", "soft small", field.description));
    e.name = field.name;
    words.append(label);
    reads.push(() => read().map((text) => ({ Name: field.name, Text: text })));
  }
  const wrong = el("p", "bad small");
  const yes = () => ({ id: f.id, answer: "accept", values: reads.flatMap((read) => read()) });
  card.append(words, wrong, el("p", "soft small", "for " + f.principal + ", since " + clock(f.asked) + ", " + f.digest.slice(0, 19) +
    ". The answer goes to the plugin and allows it nothing."));
  card.append(el("div", "buttons", button(f.url ? "I have opened it" : "Answer", "allow", yes, (text) => { wrong.textContent = text; }),
    button("Decline", "deny", { id: f.id, answer: "decline" })));
  return card;
}

// showForms leaves the cards that are there, with what is typed in them.
const cards = new Map();
function showForms(list) {
  const ids = new Set(list.map((f) => f.id));
  let other = false;
  for (const [id, card] of cards) {
    if (ids.has(id)) continue;
    card.remove();
    cards.delete(id);
    other = true;
  }
  for (const f of list) {
    if (cards.has(f.id)) continue;
    cards.set(f.id, form(f));
    document.getElementById("forms").append(cards.get(f.id));
    other = true;
  }
  if (other) moved = performance.now();
}

function call(c) {
  const did = el("span", "small");
  for (const e of c.effects || []) did.append(el("code", "", e), el("br"));
  for (const d of c.denials || []) did.append(el("code", "bad", "refused: " + d), el("br"));
  return el("div", "row", el("span", "soft small", clock(c.at)), el("span", "", c.plugin + (c.tool ? " · " + c.tool : "")), did,
    el("span", c.outcome === "ok" ? "ok small" : "bad small", (c.outcome || "-") + " · " + c.ms.toFixed(0) + " ms"));
}

function plugin(p) {
  const card = el("article", "card");
  card.append(el("p", "", el("strong", "", p.name), " ", el("span", "soft small", [p.version, p.state].filter(Boolean).join(" · "))));
  if (p.error) card.append(el("p", "bad small", p.error));
  for (const g of p.grants || []) {
    const line = (word, kind, text) => card.append(el("p", "small", el("span", kind, word + " "), el("code", "", text)));
    if (g.startsWith("deny: ")) line("never", "bad", g.slice("deny: ".length));
    else if (/ \{.*\bask: /.test(g)) line("may, if you say so,", "soft", g);
    else line("may", "ok", g);
  }
  for (const c of p.ceilings || []) {
    const top = el("p", "small", el("span", "soft", "and nothing beyond "));
    c.forEach((g, i) => top.append(i ? el("span", "soft", " or ") : "", el("code", "", g)));
    if (!c.length) top.append(el("span", "bad", "nothing: an empty max_grants"));
    card.append(top);
  }
  for (const w of p.wants || []) card.append(el("p", "small", el("span", "soft", "wants "), el("code", "", w)));
  if (!(p.grants || []).length && !(p.wants || []).length) card.append(el("p", "soft small", "wants nothing, and may do nothing"));
  return card;
}

function answer(a) {
  const how = a.refused ? "refused" : a.once ? "once" : "allowed";
  const until = a.expires ? "until " + new Date(a.expires).toLocaleString() : "always";
  return el("div", "row", el("span", a.refused ? "bad small" : "ok small", how), el("span", "", a.plugin),
    el("span", "", el("code", "", a.what), " ", el("span", "soft small", until)),
    button("Take back", "", { id: a.id, answer: "revoke" }));
}

// show fills a part of the page anew if what it shows has changed, so that buttons stay under the hand.
const shown = {};
function show(id, list, make, nothing) {
  const text = JSON.stringify(list);
  if (shown[id] === text) return;
  const before = JSON.parse(shown[id] || "[]");
  const other = (item, i) => !(list || [])[i] || item.id !== list[i].id;
  if (id !== "calls" && before.some(other)) moved = performance.now();
  shown[id] = text;
  const items = (list || []).map(make);
  const inside = items.length === 0 ? [el("p", "soft", nothing)] : items[0].className === "row" ? [el("div", "card", ...items)] : items;
  document.getElementById(id).replaceChildren(...inside);
}

async function look() {
  try {
    const s = await ask("/state");
    const n = s.questions.length + s.forms.length;
    document.title = (n ? "(" + n + ") " : "") + "Sallyport";
    document.getElementById("n-questions").textContent = n || "";
    showForms(s.forms);
    show("questions", s.questions, question, "No grant waits for an answer.");
    show("calls", s.calls, call, "No calls yet.");
    show("plugins", s.plugins, plugin, "No plugins.");
    show("answers", s.answers, answer, "Nothing was answered.");
    status("live");
  } catch (err) {
    status(err instanceof TypeError ? "the host has ended" : err.message, true);
  }
}

look();
setInterval(look, 1000);
