// The plugin of pdk/scenario in C: each library for authors has one, and all answer alike.
#include "sallyport.h"

static const sp_field named[] = {{"name", SP_STRING, "who to greet"}, {0}};

static sp_json hello(sp_call *c, sp_json args) { return sp_text(sp_format("Hello, %s!", sp_str(args, "name"))); }

static const sp_field address[] = {{"street", SP_STRING}, {"floor", SP_INTEGER, .fallback = "0"}, {0}};
static const sp_field line[] = {
    {"item", SP_STRING, .values = "espresso,filter"}, {"count", SP_INTEGER, .fallback = "1", .keywords = "\"minimum\":1"}, {0}};
static const sp_field order[] = {
    {"to", SP_OBJECT, .fields = address}, {"lines", SP_OBJECTS, .fields = line}, {"express", SP_BOOLEAN, .fallback = "false"}, {0}};

static sp_json take(sp_call *c, sp_json args) {
  const char *items = "";
  sp_each(l, sp_get(args, "lines")) items = sp_format("%s%s%lld %s", items, *items ? ", " : "", sp_int(l, "count"), sp_str(l, "item"));
  sp_json to = sp_get(args, "to");
  return sp_text(sp_format("%s to %s, floor %lld%s", items, sp_str(to, "street"), sp_int(to, "floor"), sp_true(args, "express") ? ", express" : ""));
}

static const sp_field numbers[] = {{"numbers", SP_INTEGERS}, {0}};
static const sp_field totals[] = {{"count", SP_INTEGER}, {"total", SP_INTEGER}, {"even", SP_BOOLEAN}, {0}};

static sp_json sum(sp_call *c, sp_json args) {
  long long total = 0;
  sp_each(n, sp_get(args, "numbers")) total += sp_int_of(n);
  return sp_object("count", sp_integer(sp_count(sp_get(args, "numbers"))), "total", sp_integer(total), "even", sp_bool(total % 2 == 0));
}

static const char motto[] = "once, or said so";
static const unsigned char dot[] = {0, 1, 2, 253, 254, 255};

static sp_json contents(sp_call *c, sp_json args) {
  return sp_array(sp_text("größer <&> \"quoted\"\n"), sp_image(sp_bytes_of(dot, 6), "image/png"), sp_audio(sp_bytes_of(dot, 4), "audio/wav"),
                  sp_link("scenario://motto", "motto"), sp_embed(sp_contents("scenario://motto", "text/plain", motto)),
                  sp_embed(sp_blob("scenario://dot", "image/png", sp_bytes_of(dot, 5))));
}

static sp_json fail(sp_call *c, sp_json args) { return sp_fail(c, "the tool says no"); }

static const sp_field choice[] = {{"colour", SP_STRING, .values = "red,green"}, {"count", SP_INTEGER}, {0}};

static sp_json ask(sp_call *c, sp_json args) {
  sp_json a = sp_elicit(c, "Which colour, and how many?", choice);
  if (!a) return sp_refused(c) ? 0 : sp_text(sp_declined(c) ? "declined" : "dismissed");
  return sp_text(sp_format("%lld × %s", sp_int(a, "count"), sp_str(a, "colour")));
}

static sp_json think(sp_call *c, sp_json args) {
  sp_json a = sp_sample(c, "Why?", 50);
  return a ? sp_text(sp_format("%s says: %s", sp_str(a, "model"), sp_texts(a))) : 0;
}

static sp_json roots(sp_call *c, sp_json args) {
  sp_json all = sp_roots(c);
  const char *text = "";
  sp_each(root, all) text = sp_format("%s%s%s", text, *text ? " " : "", sp_str(root, "uri"));
  return all ? sp_text(text) : 0;
}

static const sp_field page[] = {{"path", SP_STRING}, {0}};

static sp_json fetch(sp_call *c, sp_json args) {
  sp_response r = sp_fetch_url(c, sp_format("%s%s", sp_config("WEB", ""), sp_str(args, "path")));
  return r.status ? sp_text(sp_format("%d %s", r.status, (const char *)r.body.data)) : 0;
}

static sp_json post(sp_call *c, sp_json args) {
  sp_json headers = sp_object("Content-Type", sp_string("text/plain"));
  sp_response r = sp_fetch(c, "POST", sp_format("%s/echo", sp_config("WEB", "")), headers, sp_bytes_of("größer", sizeof "größer" - 1));
  return r.status ? sp_text((const char *)r.body.data) : 0;
}

static sp_json forbidden(sp_call *c, sp_json args) {
  return sp_fetch_url(c, "https://example.com/").status ? sp_text("") : 0;
}

static const sp_field refusal[] = {{"kind", SP_STRING, .values = "denied,invalid,unsupported,unavailable,timeout,limit,conflict"}, {0}};

static void request(sp_call *c, const char *kind) {
  const char *web = sp_config("WEB", "");
  if (sp_equal(kind, "denied")) sp_fetch_url(c, "https://example.com/");
  if (sp_equal(kind, "invalid")) sp_kv_get(c, "");
  if (sp_equal(kind, "unsupported")) sp_ask(c, "no/such", 0);
  if (sp_equal(kind, "unavailable")) sp_fetch_url(c, sp_format("%s/broken", web));
  if (sp_equal(kind, "timeout")) sp_ask(c, "http/fetch", sp_object("method", sp_string("GET"), "url", sp_string(sp_format("%s/slow", web)), "timeoutMs", sp_integer(50)));
  if (sp_equal(kind, "limit")) sp_sample(c, "Why?", 5000);
  if (sp_equal(kind, "conflict")) sp_kv_set(c, "never", sp_integer(1), 7);
}

static sp_json refused(sp_call *c, sp_json args) {
  request(c, sp_str(args, "kind"));
  if (!sp_refused(c)) return sp_text("not refused");
  return sp_text(sp_format(*c->hint ? "%s: %s [%s]" : "%s: %s", sp_refused(c), c->message, c->hint));
}

static const sp_field visitor[] = {{"again", SP_BOOLEAN, .fallback = "false"}, {0}};

static sp_json visit(sp_call *c, sp_json args) {
  if (!sp_true(args, "again") && !sp_kv_delete(c, "visits")) return 0;
  sp_json was = sp_kv_get(c, "visits");
  if (!was) return 0;
  long long n = sp_int(was, "value") + 1;
  return sp_kv_set(c, "visits", sp_integer(n), SP_ANY_VERSION) ? sp_text(sp_format("visit %lld", n)) : 0;
}

static sp_json keys(sp_call *c, sp_json args) {
  for (int i = 0; i < 1001; i++)
    if (!sp_kv_set(c, sp_format("key/%d", i), sp_integer(i), SP_ANY_VERSION)) return 0;
  sp_json all = sp_kv_list(c, "key/");
  if (!all) return 0;
  int n = sp_count(all);
  return sp_text(sp_format("%d keys, %s to %s", n, sp_str(sp_at(all, 0), "key"), sp_str(sp_at(all, n - 1), "key")));
}

static const sp_field audience[] = {{"show", SP_BOOLEAN, .fallback = "false"}, {0}};

static sp_json news(sp_call *c, sp_json args) {
  sp_json post = sp_array(sp_string("post"));
  if (sp_true(args, "show")) sp_show(c, "tools", post);
  else sp_hide(c, "tools", post);
  sp_resource_updated(c, "scenario://motto");
  return sp_text("told");
}

static sp_json steps(sp_call *c, sp_json args) {
  sp_release(c);
  sp_progress(c, 1, 2, "half");
  sp_log(c, "warning", sp_object("step", sp_integer(1)));
  sp_progress(c, 2, 2, 0);
  return sp_text("done");
}

static sp_json twice(sp_call *c, sp_json args) {
  sp_json once = sp_call_tool(c, "hello", args);
  return once ? sp_text(sp_format("%s %s", sp_texts(once), sp_texts(once))) : 0;
}

static sp_json nested(sp_call *c, sp_json args) { return sp_call_tool(c, "fail", sp_object()); }

static const sp_tool tools[] = {
    {"hello", "Greets someone.", hello, named, .hints = SP_READ_ONLY},
    {"order", "Takes an order.", take, order},
    {"sum", "Adds numbers.", sum, numbers, totals},
    {"contents", "Has a block of each kind.", contents},
    {"fail", "Fails.", fail},
    {"ask", "Asks the person.", ask},
    {"think", "Asks the model.", think},
    {"roots", "Lists the client's folders.", roots},
    {"fetch", "Gets a page.", fetch, page},
    {"post", "Sends a text.", post},
    {"forbidden", "Asks for a page that no grant allows.", forbidden},
    {"refused", "Tells how the host refuses.", refused, refusal},
    {"visit", "Counts visits.", visit, visitor},
    {"keys", "Keeps many keys.", keys},
    {"news", "Tells of changes.", news, audience},
    {"steps", "Reports progress.", steps},
    {"twice", "Calls hello.", twice, named},
    {"nested", "Calls fail.", nested},
    {0}};

static sp_json read_motto(sp_call *c, sp_json args) { return sp_string(motto); }
static sp_json read_dot(sp_call *c, sp_json args) { return sp_blob(0, 0, sp_bytes_of(dot, 6)); }
static sp_json city(sp_call *c, sp_json args) {
  return sp_equal(sp_str(args, "name"), "nowhere") ? sp_not_found(c) : sp_text(sp_format("The city of %s", sp_str(args, "name")));
}

static sp_json cities(sp_call *c, sp_json args) { return sp_fitting(args, "Paris,São Paulo,São Tomé"); }

static const sp_resource resources[] = {
    {"scenario://motto", "motto", "A text.", read_motto, "text/plain"},
    {"scenario://dot", "dot", "Some bytes.", read_dot, "image/png"},
    {"scenario://city/{name}", "city", "A city.", city, "text/plain", .complete = cities},
    {0}};

static const sp_field review[] = {{"file", SP_STRING, "what to look at"}, {"tone", SP_STRING, .optional = 1}, {0}};

static sp_json write_review(sp_call *c, sp_json args) {
  const char *file = sp_str(args, "file"), *tone = sp_str(args, "tone");
  return sp_array(sp_user(sp_text(sp_format(*tone ? "Review %s. Be %s." : "Review %s.", file, tone))), sp_assistant(sp_text(sp_format("I begin with %s.", file))));
}

static sp_json tones(sp_call *c, sp_json args) {
  const char *argument = sp_str(args, "argument"), *file = sp_str(sp_get(args, "arguments"), "file");
  if (!sp_equal(argument, "tone")) return 0;
  return sp_fitting(args, sp_format(*file ? "kind,strict,stern,%s of %s for %s" : "kind,strict,stern", argument, sp_str(args, "of"), file));
}

static const sp_prompt prompts[] = {{"review", "Asks for a review.", write_review, review, tones}, {0}};
static const sp_want wants[] = {{"kv", "\"1MiB\"", "counts visits"}, {0}};

SP_PLUGIN("scenario", "1.0.0", "Answers the scenario.", tools, resources, prompts, wants)
