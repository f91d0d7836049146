"use strict";
// The token came in the fragment, which no server sees. It is kept for this tab and taken off the address.
const fragment = location.hash.slice(1);
if (fragment) {
  sessionStorage.setItem("token", fragment);
  history.replaceState(null, "", "/");
}
const token = sessionStorage.getItem("token") || "";

// visible is text in which nothing is hidden and nothing turns the direction of writing: such characters are escapes.
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

// el makes an element. What plugins say is only ever its text.
function el(tag, className, ...inside) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...inside.map((part) => (typeof part === "string" ? visible(part) : part)));
  return e;
}

async function ask(path, body, signal) {
  const init = { headers: { Authorization: "Bearer " + token }, cache: "no-store", signal: signal };
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
  s.textContent = visible(text);
  s.className = lost ? "lost" : "";
}

// spoken is a text for those who hear the page, short enough to be heard.
function spoken(text) {
  const s = visible(text);
  return s.length > 160 ? s.slice(0, 160) + "…" : s;
}

// said is what the host said against the last click on an item, by the item: it stays there until the next one.
const said = new Map();

function complain(place, err) {
  const item = place.closest("[data-key]");
  if (!item) return status(err.message, true);
  said.set(item.dataset.key, err.message);
  tell(item);
}

// tell shows what was said on an item.
function tell(item) {
  let p = item.querySelector(":scope > .wrong");
  const text = said.get(item.dataset.key) || "";
  if (!p && !text) return;
  if (!p) {
    p = el("p", "wrong wide bad small");
    p.setAttribute("role", "alert");
    item.append(p);
  }
  p.textContent = visible(text);
}

// What moves under the hand takes no click for a moment: the second one of a double click was meant for what was there.
const settle = 700;
let moved = -settle;

// press is a button: its name says what it is about to those who do not see the card it stands on. What it does runs once
// at a time for all buttons beside it, which keep the focus.
function press(label, className, about, act) {
  const b = el("button", className, label);
  b.type = "button";
  b.setAttribute("aria-label", label + ": " + spoken(about));
  b.addEventListener("click", async () => {
    const all = b.parentElement ? [...b.parentElement.querySelectorAll("button")] : [b];
    if (performance.now() - moved < settle || all.some((o) => o.getAttribute("aria-disabled") === "true")) return;
    for (const other of all) other.setAttribute("aria-disabled", "true");
    const item = b.closest("[data-key]");
    if (item && said.delete(item.dataset.key)) tell(item);
    try {
      await act();
    } finally {
      for (const other of all) other.removeAttribute("aria-disabled");
    }
  });
  return b;
}

// button sends an answer; body is what a click sends, or makes it; failed is told what the host says against it.
function button(label, className, about, body, failed) {
  const b = press(label, className, about, async () => {
    try {
      await ask("/answer", typeof body === "function" ? body() : body);
    } catch (err) {
      if (failed) failed(err.message); else complain(b, err);
    }
    await look();
  });
  return b;
}

// asks puts a question in the place of a button, for what is not taken back by a click: yes does it.
function asks(place, text, about, yes) {
  const box = el("div", "sure");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", spoken(text));
  const close = () => { box.remove(); place.hidden = false; };
  const no = press("No", "", about, async () => { close(); place.querySelector("button")?.focus(); });
  const sure = press("Yes", "allow", text, async () => {
    const item = place.closest("[data-key]");
    close();
    item.tabIndex = -1;
    item.focus({ preventScroll: true });
    await yes();
  });
  box.append(el("p", "small", text), el("div", "buttons", sure, no));
  place.hidden = true;
  place.after(box);
  no.focus(); // a second Enter is a no
}

// clock is the time of an event, with its day if that is not today.
function clock(text) {
  const at = new Date(text);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

function question(q) {
  const card = el("article", "card question");
  const about = q.plugin + " wants to " + q.effect;
  card.append(el("p", "", el("strong", "", q.plugin), " wants to ", el("code", "effect", q.effect)));
  if (q.why) card.append(el("p", "says soft", "it says: " + q.why));
  card.append(el("p", "soft small", "for " + q.principal + ", since " + clock(q.asked) + ", " + q.digest.slice(0, 19)));
  const open = (text) => (text ? ", for an hour or always with " + text : "");
  card.append(el("p", "small", "allows ", el("code", "", q.line), open(q.open)));
  const answer = (label, kind, word, want) => button(label, kind, about, { id: q.id, answer: word, want: want });
  card.append(el("div", "buttons", answer("Once", "allow", "once", false), answer("For an hour", "allow", "hour", false),
    answer("Always", "allow", "always", false), answer("Refuse", "deny", "deny", false)));
  if (q.want && q.want !== q.line) {
    card.append(el("p", "small", "or all that it announced: ", el("code", "", q.want), q.wantOpen ? ", with " + q.wantOpen : ""));
    const all = el("div", "buttons");
    const sure = (label, word, how) => press(label, "", q.plugin + " may " + q.want, async () => {
      asks(all, "Everything that it announced, " + how + ", and not only this: " + q.want + (q.wantOpen ? ", with " + q.wantOpen : "") + "?", about, async () => {
        try { await ask("/answer", { id: q.id, answer: word, want: true }); } catch (err) { complain(all, err); }
        await look();
      });
    });
    all.append(sure("All of it for an hour", "hour", "for an hour"), sure("All of it always", "always", "until you take it back"));
    card.append(all);
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
  const about = "what " + f.plugin + " asks you";
  wrong.setAttribute("role", "alert");
  card.append(el("div", "buttons", button(f.url ? "I have opened it" : "Answer", "allow", about, yes, (text) => { wrong.textContent = visible(text); }),
    button("Decline", "deny", about, { id: f.id, answer: "decline" })));
  return card;
}

// showForms leaves the cards that are there, with what is typed in them.
const cards = new Map();
function showForms(list) {
  const ids = new Set(list.map((f) => f.id));
  let other = false;
  for (const [id, card] of cards) {
    if (ids.has(id)) continue;
    const had = card.contains(document.activeElement);
    card.remove();
    if (had) document.getElementById("h-questions").focus();
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
  const did = el("span", "did small");
  for (const e of c.effects || []) did.append(el("code", "", e), el("br"));
  const more = el("div", "wide");
  for (const d of c.denials || []) {
    did.append(el("code", "bad", "refused: " + d.effect), el("br"));
    if (d.line) more.append(allows(c, d)); else if (d.why) did.append(el("span", "soft", d.why), el("br"));
  }
  const row = el("div", "row", el("span", "at soft small", clock(c.at)), el("span", "who", c.plugin + (c.tool ? " · " + c.tool : "")), did,
    el("span", "end", el("span", c.outcome === "ok" ? "ok small" : "bad small", (c.outcome || "-") + " · " + c.ms.toFixed(0) + " ms"), " ", receipt(c, more)));
  row.append(more);
  return row;
}

// receipts are those that are open, by call: they stay open while the page refreshes.
const receipts = new Map();

// receipt is the button that shows the lines of the audit log of a call, and hides them.
function receipt(c, place) {
  const about = c.plugin + (c.tool ? " " + c.tool : "") + ", " + c.outcome + ", " + clock(c.at) + ", " + c.id;
  const box = el("pre", "words small");
  const b = press("Receipt", "quiet", about, async () => {
    try {
      if (receipts.has(c.id)) receipts.delete(c.id); else receipts.set(c.id, (await order({ do: "receipt", call: c.id })).text);
      fill();
      if (receipts.has(c.id)) box.focus();
    } catch (err) { complain(b, err); }
  });
  const fill = () => {
    box.hidden = !receipts.has(c.id);
    b.setAttribute("aria-expanded", String(!box.hidden));
    box.replaceChildren(...(receipts.get(c.id) || "").split("\n").flatMap((line) => [visible(line), "\n"]));
  };
  box.tabIndex = 0;
  box.setAttribute("aria-label", "receipt of " + spoken(about));
  place.append(box);
  fill();
  return b;
}

// order has the host do what was shown.
function order(what) { return ask("/order", what); }

// found are the calls of the last search, null for the newest calls.
let found = null;

// find searches the whole audit log; without a word the newest calls are shown again.
async function find() {
  const word = document.getElementById("word").value.trim();
  const told = document.getElementById("found");
  try {
    found = word ? await order({ do: "find", word: word }) : null;
    told.textContent = !found ? "" : visible((found.length === 1 ? "1 call names " : (found.length || "no") + " calls name ") + word + ", the newest first");
  } catch (err) { told.textContent = visible(err.message); }
  await look();
}
document.getElementById("find").addEventListener("submit", (e) => { e.preventDefault(); find(); });

// allows is the button that adds the narrowest line which would have allowed a refused effect: it shows what it writes
// first.
function allows(c, d) {
  const place = el("div", "buttons");
  const about = c.plugin + " may " + d.line;
  place.append(press("Allow", "allow", about, async () => {
    const what = { host: c.host, plugin: c.plugin, line: d.line };
    try {
      const p = await order({ ...what, do: "propose" });
      asks(place, "Write this into " + p.file + "?", about, async () => {
        try {
          await order({ ...what, do: "grant", seen: p.seen });
          place.replaceChildren(el("span", "ok small", "written: it may, from its next call on"));
        } catch (err) { complain(place, err); }
        await look();
      });
      const text = el("pre", "words small");
      for (const line of p.lines) text.append(visible(line), "\n");
      if (p.note) text.append(visible(p.note), "\n");
      place.nextElementSibling.firstChild.after(text);
    } catch (err) { complain(place, err); }
  }), el("code", "small", d.line));
  return place;
}

// held is what a person does about a plugin whose bytes wait: look, then approve or reject.
function held(h, p) {
  const box = el("div", "");
  const place = el("div", "buttons");
  const about = p.name + ", whose new bytes wait";
  const what = { host: h.id, plugin: p.name };
  const settled = (word, text) => press(word, word === "Approve" ? "allow" : "deny", about, async () => {
    asks(box.lastChild, text, about, async () => {
      try {
        await order({ ...what, do: word.toLowerCase(), seen: box.dataset.seen, carry: !!box.querySelector("input")?.checked });
        box.replaceChildren(el("span", "ok small", word === "Approve" ? "approved" : "rejected"));
      } catch (err) { complain(box, err); }
      await look();
    });
  });
  place.append(press("Show what is new", "", about, async () => {
    try {
      const r = await order({ ...what, do: "review" });
      const text = el("pre", "words small");
      text.tabIndex = 0;
      text.setAttribute("aria-label", "changes of " + spoken(p.name));
      for (const line of r.text.split("\n")) text.append(visible(line), "\n");
      box.dataset.seen = r.seen;
      box.replaceChildren(text, ...carried(r.answers || [], about), el("div", "buttons", settled("Approve", "May " + p.name + " serve with these bytes?"),
        settled("Reject", "Refuse these bytes of " + p.name + " for good?")));
      text.focus();
    } catch (err) { complain(box, err); }
  }));
  box.append(place);
  return box;
}

// carried are the answers for the bytes before, and whether they are to hold for the new ones, which only a tick says.
function carried(answers, about) {
  if (!answers.length) return [];
  const list = el("ul", "small");
  for (const a of answers) list.append(el("li", "", visible(a)));
  const tick = el("input", "");
  tick.type = "checkbox";
  tick.setAttribute("aria-label", "answers hold for the new bytes too: " + spoken(about));
  return [el("p", "small", "You answered for the bytes before:"), list,
    el("label", "small", tick, " with Approve, these answers hold for the new bytes too; else they are forgotten")];
}

// fetching is the fetch of the last link: the next one ends it.
let fetching = null;

// offer shows the plugin of a link. Nothing is installed before somebody says so on the card.
async function offer() {
  const link = document.getElementById("link").value.trim();
  const told = document.getElementById("fetched");
  const place = document.getElementById("offer");
  if (fetching) fetching.abort();
  place.replaceChildren();
  told.textContent = "";
  if (!link) return;
  const mine = fetching = new AbortController();
  told.textContent = "it is being fetched and examined";
  try {
    await looked; // the folders
    if (fetching !== mine) return;
    const what = { host: document.getElementById("folder").value, link: link };
    const o = await ask("/order", { ...what, do: "offer" }, mine.signal);
    if (fetching !== mine) return;
    told.textContent = "";
    place.replaceChildren(offered(what, o));
    place.querySelector("pre").focus();
  } catch (err) {
    if (fetching === mine) told.textContent = visible(err.message);
  }
}
document.getElementById("add").addEventListener("submit", (e) => { e.preventDefault(); offer(); });

// wanted is a tick for each line that a plugin wants: without it the line is not granted.
function wanted(o) {
  const ticks = o.wants.map((w) => {
    const tick = el("input");
    tick.type = "checkbox";
    tick.value = w.line;
    return tick;
  });
  const list = o.wants.map((w, i) => el("p", "", el("label", "small", ticks[i], " it may ", el("code", "", w.line)),
    w.why ? el("span", "says soft small", " it says: " + w.why) : ""));
  return [list, () => ticks.filter((t) => t.checked).map((t) => t.value)];
}

// offered is the card of a plugin that is not installed.
function offered(what, o) {
  const card = el("article", "card question");
  card.dataset.key = "offer " + o.name;
  const text = el("pre", "words small");
  text.tabIndex = 0;
  text.setAttribute("aria-label", "description of " + spoken(o.name));
  for (const line of o.text.split("\n")) text.append(visible(line), "\n");
  const [list, lines] = wanted(o);
  const about = o.name + ", which is not installed";
  const place = el("div", "buttons");
  const close = (report) => {
    card.replaceChildren(...report);
    const heading = document.getElementById("h-plugins");
    if (!report.length) card.remove();
    heading.focus();
  };
  place.append(press("Install", "allow", about, async () => {
    const chosen = lines();
    asks(place, "Install " + o.name + (chosen.length ? " with " + chosen.length + " of its " + o.wants.length + " wants?" : " without any grant?"), about, async () => {
      try {
        const r = await order({ ...what, do: "install", seen: o.seen, lines: chosen });
        const report = el("pre", "small ok");
        for (const line of r.text.split("\n")) report.append(visible(line), "\n");
        close([report]);
      } catch (err) { complain(place, err); }
      await look();
    });
  }), press("Cancel", "deny", about, async () => close([])));
  card.append(el("p", "", el("strong", "", o.name), " is not installed. What it says of itself is not verified:"), text, ...list, place);
  return card;
}

// nameFolders lists the folders that a plugin can be added to.
function nameFolders(hosts) {
  const select = document.getElementById("folder");
  const all = hosts.filter((h, i) => hosts.findIndex((o) => o.dir === h.dir) === i);
  const text = JSON.stringify(all.map((h) => [h.id, h.dir]));
  if (select.dataset.shown === text) return;
  select.dataset.shown = text;
  const was = select.selectedOptions[0]?.textContent;
  select.replaceChildren(...all.map((h) => {
    const e = el("option", "", h.dir);
    e.value = h.id;
    e.selected = e.textContent === was;
    return e;
  }));
  document.getElementById("into").hidden = all.length < 2;
}

function plugin(p) {
  const card = el("article", "card");
  if (p.where) card.append(el("p", "soft small", p.where));
  card.append(el("p", "", el("strong", "", p.name), " ", el("span", "soft small", [p.version, p.state].filter(Boolean).join(" · "))));
  if (p.error) card.append(el("p", "bad small", p.error));
  if (p.waits) card.append(held(p.host, p));
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
  return el("div", "row", el("span", (a.refused ? "bad" : "ok") + " at small", how), el("span", "who", a.plugin),
    el("span", "did", el("code", "", a.what), " ", el("span", "soft small", until)),
    button("Take back", "end", a.plugin + " " + how + " " + a.what, { id: a.id, answer: "revoke" }));
}

// keyOf finds what an element is about again after it was made anew: the card or row, and the label of a button.
function keyOf(e, root) {
  const item = e.closest("[data-key]");
  return item && root.contains(item) ? [item.dataset.key, e.getAttribute("aria-label") || ""] : null;
}

// refocus puts the focus back where it was. If that is gone, it goes to what took its place, never to a button: the key
// that was pressed twice answers nothing.
function refocus(root, key, at) {
  const items = [...root.querySelectorAll("[data-key]")];
  const item = items.find((i) => i.dataset.key === key[0]);
  const same = item && (key[1] ? [...item.querySelectorAll("[aria-label]")].find((e) => e.getAttribute("aria-label") === key[1]) : item);
  const next = same || item || items[Math.min(at, items.length - 1)] || root.closest("section").querySelector("h2");
  if (next.tabIndex < 0) next.tabIndex = -1;
  next.focus({ preventScroll: !!same });
}

// show fills a part of the page anew if what it shows has changed, so that buttons stay under the hand.
const shown = {};
function show(id, list, make, nothing) {
  const text = JSON.stringify(list);
  if (shown[id] === text) return;
  const before = JSON.parse(shown[id] || "[]");
  const other = (item, i) => !(list || [])[i] || item.id !== list[i].id;
  if (id !== "calls" && before.some(other)) moved = performance.now();
  const root = document.getElementById(id);
  if (root.querySelector(".sure")) return; // somebody is being asked: what is asked about stays
  shown[id] = text;
  const key = root.contains(document.activeElement) ? keyOf(document.activeElement, root) : null;
  const at = key ? [...root.querySelectorAll("[data-key]")].findIndex((i) => i.dataset.key === key[0]) : 0;
  const items = (list || []).map((item) => {
    const e = make(item);
    e.dataset.key = item.id || item.name || "";
    tell(e);
    return e;
  });
  const inside = items.length === 0 ? [el("p", "soft", nothing)] : items[0].className === "row" ? [el("div", "card", ...items)] : items;
  const height = root.offsetHeight;
  root.replaceChildren(...inside);
  if (root.offsetHeight !== height) moved = performance.now();
  if (key) refocus(root, key, at);
}

// pluginsOf are those of all hosts, each once for each folder that it is served from.
function pluginsOf(hosts) {
  const all = [];
  const dirs = new Set(hosts.map((h) => h.dir));
  for (const h of hosts) {
    for (const p of h.plugins || []) {
      const id = h.dir + "/" + p.name;
      if (all.some((o) => o.id === id)) continue;
      all.push({ ...p, id: id, host: { id: h.id }, where: dirs.size > 1 ? "in " + h.dir : "" });
    }
  }
  return all;
}

// nameHosts says for whom this page is: the clients, as they call themselves, and the folders.
function nameHosts(hosts, waiting) {
  const clients = [...new Set(hosts.flatMap((h) => h.clients || []))];
  document.title = (waiting ? "(" + waiting + ") " : "") + ["Sallyport", visible(clients.join(", ")).slice(0, 80)].filter(Boolean).join(": ");
  const each = hosts.map((h) => ((h.clients || []).join(", ") || "no client yet") + " in " + h.dir);
  document.getElementById("hosts").textContent = visible(each.join(" · "));
}

async function look() {
  try {
    const s = await ask("/state");
    const n = s.questions.length + s.forms.length;
    const plugins = pluginsOf(s.hosts || []);
    const waiting = plugins.filter((p) => p.waits);
    const open = waiting.filter((p) => !p.rejected).length; // a rejected one needs no answer
    nameHosts(s.hosts || [], n + open);
    nameFolders(s.hosts || []);
    document.getElementById("n-held").textContent = open || "";
    document.getElementById("n-questions").textContent = n || "";
    showForms(s.forms);
    show("questions", s.questions, question, "No grant waits for an answer.");
    show("held", waiting, plugin, "No plugin is held.");
    show("calls", found || s.calls, call, found ? "No call names it." : "No calls yet.");
    show("plugins", plugins.filter((p) => !p.waits), plugin, plugins.length ? "All plugins are held." : (s.hosts || []).length ? "No plugin is installed." : "No host runs.");
    show("answers", s.answers, answer, "Nothing was answered.");
    status("live");
  } catch (err) {
    status(err instanceof TypeError ? "the host has ended: sallyport console opens the page again" : err.message, true);
  }
}

const looked = look(); // for the first time
setInterval(look, 1000);
