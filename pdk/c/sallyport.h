// sallyport.h: the library of plugin authors in C and C++. It is this one file, and needs no C library:
//
//   #include "sallyport.h"
//
//   static sp_json greet(sp_call *c, sp_json args) { return sp_text(sp_format("Hello, %s!", sp_str(args, "name"))); }
//
//   static const sp_field name[] = {{"name", SP_STRING, "who to greet"}, {0}};
//   static const sp_tool tools[] = {{"greet", "Greets someone.", greet, name}, {0}};
//   SP_PLUGIN("hello", "1.0.0", .tools = tools)
//
//   clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry,--strip-all -o hello.wasm hello.c
//
// With wasi-libc: --target=wasm32-wasi -mexec-model=reactor, without -nostdlib. Include this file in one source file.
//
// Memory is taken by sp_alloc and never given back: all of it is free again when the call ends. A sp_json may be NULL
// everywhere, and then has no members; a function of the host that was refused returns NULL.
#ifndef SALLYPORT_H
#define SALLYPORT_H

typedef __SIZE_TYPE__ sp_size;

// Values

typedef struct sp_value *sp_json;   // a JSON value
typedef struct { const void *data; sp_size size; } sp_bytes;

typedef enum { SP_ANY, SP_STRING, SP_INTEGER, SP_NUMBER, SP_BOOLEAN, SP_OBJECT, SP_STRINGS, SP_INTEGERS, SP_NUMBERS, SP_OBJECTS } sp_type;

// sp_field describes one member of arguments, of a result or of a form. A list of them ends with {0}.
typedef struct sp_field {
  const char *name;
  sp_type type;                   // SP_OBJECTS is a list of objects, and so on
  const char *doc;
  const char *fallback;           // JSON of the value of an absent member, at every depth
  int optional;                   // may be absent without a fallback
  const struct sp_field *fields;  // of SP_OBJECT and SP_OBJECTS
  const char *values;             // the allowed texts, separated by commas
  const char *keywords;           // other members of the JSON Schema, such as "\"minimum\":1,\"maximum\":5"
} sp_field;

// What a plugin has. Each list ends with {0}.

typedef struct sp_call sp_call;

// A sp_handler returns the result, or NULL: then the last refusal, sp_fail or sp_error is the answer.
typedef sp_json (*sp_handler)(sp_call *c, sp_json args);

enum { SP_READ_ONLY = 1, SP_DESTRUCTIVE = 2, SP_NOT_DESTRUCTIVE = 4, SP_IDEMPOTENT = 8, SP_OPEN_WORLD = 16, SP_CLOSED_WORLD = 32 };

// sp_tool is a tool. Its result is text, blocks (sp_text, sp_image, …, or a sp_array of them), a whole result with a
// member content, or any other object as structured content.
typedef struct {
  const char *name, *description;
  sp_handler call;
  const sp_field *input, *output;
  int hints;          // SP_READ_ONLY and so on
  const char *also;   // other members of its entry, such as "\"title\":\"Hello\",\"execution\":{\"taskSupport\":\"optional\"}"
} sp_tool;

// sp_resource is a resource, or a template if its URI has {variables}: {name} is one segment of the path, {+name} all the
// rest. The handler gets them as args, and returns text, sp_blob, or an object with uri and text or blob. complete is
// that of sp_prompt, for the variables.
typedef struct {
  const char *uri, *name, *description;
  sp_handler read;
  const char *mime_type, *also;
  sp_handler complete;
} sp_resource;

// sp_prompt is a prompt. The handler returns text, or a sp_array of sp_user and sp_assistant. complete gets the name of the
// argument, the typed value, the name of the prompt or the URI of the template, and the arguments that are already set, as
// {"argument", "value", "of", "arguments"}, and returns a sp_array of texts, or NULL; sp_fitting makes one.
typedef struct {
  const char *name, *description;
  sp_handler get;
  const sp_field *arguments;
  sp_handler complete;
  const char *also;
} sp_prompt;

// sp_want asks the operator for a grant: {"net", "\"GET https://api.example.com/**\"", "looks words up"}.
typedef struct { const char *family, *grant, *why; } sp_want;

typedef struct {
  const char *name, *version, *description;
  const sp_tool *tools;
  const sp_resource *resources;
  const sp_prompt *prompts;
  const sp_want *wants;
  const char *also;
} sp_plugin;

#ifdef __cplusplus
#define SP__EXTERN extern "C"
#else
#define SP__EXTERN
#endif

// SP_PLUGIN makes the module's plugin: SP_PLUGIN("name", "version", .tools = tools).
#define SP_PLUGIN(...)                                                                                       \
  static const sp_plugin sp__plugin = {__VA_ARGS__};                                                         \
  SP__EXTERN __attribute__((export_name("mcp_handle"))) int mcp_handle(int size) {                           \
    (void)size;                                                                                              \
    return sp__handle(&sp__plugin);                                                                          \
  }

// The imports of a module, and the memory

#define SP__IMPORT(module, name) SP__EXTERN __attribute__((import_module(module), import_name(#name)))
#define SP__UNUSED static __attribute__((unused))

SP__IMPORT("sallyport", read) int sp__read(int stream, void *p, int size);
SP__IMPORT("sallyport", write) int sp__write(int stream, const void *p, int size);
SP__IMPORT("sallyport", call) long long sp__ask(const void *p, int size);
SP__IMPORT("sallyport", close) int sp__close(int stream);
SP__IMPORT("wasi_snapshot_preview1", environ_sizes_get) int sp__environ_sizes(sp_size *count, sp_size *size);
SP__IMPORT("wasi_snapshot_preview1", environ_get) int sp__environ(char **entries, char *text);
SP__IMPORT("wasi_snapshot_preview1", random_get) int sp__random(void *p, sp_size size);

// Compilers call these even without a C library.
#define SP__LIBC SP__EXTERN __attribute__((weak, no_builtin))
typedef unsigned long long __attribute__((aligned(1), may_alias)) sp__word;
SP__LIBC void *memcpy(void *to, const void *from, sp_size n) {
  char *t = (char *)to;
  const char *f = (const char *)from;
  for (; n >= 8; n -= 8, t += 8, f += 8) *(sp__word *)t = *(const sp__word *)f;
  while (n--) *t++ = *f++;
  return to;
}
SP__LIBC void *memmove(void *to, const void *from, sp_size n) {
  if ((char *)to <= (const char *)from) return memcpy(to, from, n);
  while (n--) ((char *)to)[n] = ((const char *)from)[n];
  return to;
}
SP__LIBC void *memset(void *to, int c, sp_size n) {
  char *t = (char *)to;
  for (sp__word w = (unsigned char)c * 0x0101010101010101ull; n >= 8; n -= 8, t += 8) *(sp__word *)t = w;
  while (n--) *t++ = (char)c;
  return to;
}
SP__LIBC int memcmp(const void *a, const void *b, sp_size n) {
  for (sp_size i = 0; i < n; i++) {
    int d = ((const unsigned char *)a)[i] - ((const unsigned char *)b)[i];
    if (d) return d;
  }
  return 0;
}
SP__LIBC sp_size strlen(const char *s) {
  sp_size n = 0;
  while (s[n]) n++;
  return n;
}

typedef struct sp__chunk { struct sp__chunk *next; sp_size size, used; } sp__chunk;
static sp__chunk *sp__chunks, *sp__chunk_now;

// sp_alloc returns memory of zeros that is free again when the call ends.
SP__UNUSED void *sp_alloc(sp_size n) {
  n = (n + 15) & ~(sp_size)15;
  while (sp__chunk_now && sp__chunk_now->size - sp__chunk_now->used < n && sp__chunk_now->next) sp__chunk_now = sp__chunk_now->next;
  if (!sp__chunk_now || sp__chunk_now->size - sp__chunk_now->used < n) {
    sp_size pages = (n + 64 + 65535) / 65536;
    if (pages < 4) pages = 4;
    sp_size at = __builtin_wasm_memory_grow(0, pages);
    if (at == (sp_size)-1) __builtin_trap();
    sp__chunk *chunk = (sp__chunk *)(at * 65536);
    chunk->next = 0, chunk->size = pages * 65536, chunk->used = 32;
    if (sp__chunk_now) sp__chunk_now->next = chunk;
    else sp__chunks = chunk;
    sp__chunk_now = chunk;
  }
  void *p = (char *)sp__chunk_now + sp__chunk_now->used;
  sp__chunk_now->used += n;
  return memset(p, 0, n);
}

SP__UNUSED void sp__release(void) {
  for (sp__chunk *chunk = sp__chunks; chunk; chunk = chunk->next) chunk->used = 32;
  sp__chunk_now = sp__chunks;
}

// Text

typedef struct { char *data; sp_size size, room; } sp__text;

SP__UNUSED void sp__add(sp__text *t, const void *data, sp_size size) {
  if (t->size + size + 1 > t->room) {
    sp_size room = (t->room + size + 64) * 2;
    char *bigger = (char *)sp_alloc(room);
    memcpy(bigger, t->data, t->size);
    t->data = bigger, t->room = room;
  }
  memcpy(t->data + t->size, data, size);
  t->data[t->size += size] = 0;
}
SP__UNUSED void sp__puts(sp__text *t, const char *s) { sp__add(t, s, strlen(s)); }

SP__UNUSED int sp_equal(const char *a, const char *b) { return a && b && strlen(a) == strlen(b) && !memcmp(a, b, strlen(a)); }
SP__UNUSED int sp_starts(const char *s, const char *with) { return strlen(s) >= strlen(with) && !memcmp(s, with, strlen(with)); }

SP__UNUSED char *sp__copy(const char *s, sp_size n) {
  char *copy = (char *)sp_alloc(n + 1);
  memcpy(copy, s, n);
  return copy;
}

SP__UNUSED void sp__put_int(sp__text *t, long long n) {
  char digits[24];
  int at = 24;
  unsigned long long m = n < 0 ? 0 - (unsigned long long)n : (unsigned long long)n;
  do digits[--at] = (char)('0' + m % 10); while (m /= 10);
  if (n < 0) digits[--at] = '-';
  sp__add(t, digits + at, (sp_size)(24 - at));
}

SP__UNUSED void sp__put_double(sp__text *t, double d);

// sp_format knows %s, %c, %d, %u, %ld, %lld, %zu, %g and %%.
SP__UNUSED __attribute__((format(printf, 1, 2))) char *sp_format(const char *form, ...) {
  sp__text t = {0, 0, 0};
  __builtin_va_list list;
  __builtin_va_start(list, form);
  sp__add(&t, "", 0);
  for (; *form; form++) {
    if (*form != '%') {
      sp__add(&t, form, 1);
      continue;
    }
    int longs = 0;
    for (form++; *form == 'l' || *form == 'z'; form++) longs += *form == 'l';
    switch (*form) {
    case 's': {
      const char *s = __builtin_va_arg(list, const char *);
      sp__puts(&t, s ? s : "");
      break;
    }
    case 'c': {
      char c = (char)__builtin_va_arg(list, int);
      sp__add(&t, &c, 1);
      break;
    }
    case 'd': sp__put_int(&t, longs > 1 ? __builtin_va_arg(list, long long) : __builtin_va_arg(list, int)); break;
    case 'u': sp__put_int(&t, longs > 1 ? (long long)__builtin_va_arg(list, unsigned long long) : (long long)__builtin_va_arg(list, unsigned)); break;
    case 'g': sp__put_double(&t, __builtin_va_arg(list, double)); break;
    default: sp__add(&t, "%", 1);
    }
    if (!*form) break;
  }
  __builtin_va_end(list);
  return t.data;
}

// JSON

typedef enum { SP__NULL, SP__FALSE, SP__TRUE, SP__NUM, SP__STR, SP__ARR, SP__OBJ } sp__kind;

struct sp_value {
  sp__kind kind;
  int block;              // 1: a block of content, 2: a message, 3: contents of a resource
  int listed;             // it is an element or a member of another value
  const char *key, *text; // text of a string, or the digits of a number
  sp_size size;
  sp_json first, last, next;
};

SP__UNUSED sp_json sp__new(sp__kind kind) {
  sp_json v = (sp_json)sp_alloc(sizeof *v);
  v->kind = kind, v->text = "";
  return v;
}
SP__UNUSED sp_json sp__string(const char *s, sp_size n) {
  sp_json v = sp__new(SP__STR);
  v->text = s, v->size = n;
  return v;
}
SP__UNUSED sp_json sp_string(const char *s) { return s ? sp__string(s, strlen(s)) : 0; }
SP__UNUSED sp_json sp_bool(int b) { return sp__new(b ? SP__TRUE : SP__FALSE); }
SP__UNUSED sp_json sp_integer(long long n) {
  sp__text t = {0, 0, 0};
  sp__put_int(&t, n);
  sp_json v = sp__new(SP__NUM);
  v->text = t.data, v->size = t.size;
  return v;
}

SP__UNUSED double sp_num_of(sp_json v);

// sp__digits writes digits × 10^exponent.
SP__UNUSED sp__text sp__digits(long long digits, int exponent) {
  sp__text t = {0, 0, 0}, n = {0, 0, 0};
  for (; digits % 10 == 0; exponent++) digits /= 10;
  sp__put_int(&n, digits);
  int point = (int)n.size + exponent; // its place among the digits
  if (exponent >= 0 || point < -5) {
    sp__puts(&t, n.data);
    if (exponent) sp__puts(&t, "e"), sp__put_int(&t, exponent);
    return t;
  }
  if (point <= 0) sp__puts(&t, "0.");
  for (int zeros = point; zeros < 0; zeros++) sp__puts(&t, "0");
  if (point > 0) sp__add(&t, n.data, (sp_size)point), sp__puts(&t, ".");
  sp__puts(&t, n.data + (point > 0 ? point : 0));
  return t;
}

// sp__put_double writes the fewest of 15 to 17 digits that are read as the number again.
SP__UNUSED void sp__put_double(sp__text *t, double d) {
  if (d - d != 0) return sp__puts(t, d != d ? "nan" : d < 0 ? "-inf" : "inf");
  if (d <= 9007199254740992.0 && d >= -9007199254740992.0 && d == (double)(long long)d) return sp__put_int(t, (long long)d);
  if (d < 0) sp__puts(t, "-"), d = -d;
  for (double top = 1e15;; top *= 10) {
    int exponent = 0;
    double m = d;
    while (m >= top) m /= 10, exponent++;
    while (m < top / 10) m *= 10, exponent--;
    sp__text digits = sp__digits((long long)(m + 0.5), exponent);
    sp_json v = sp__new(SP__NUM);
    v->text = digits.data;
    if (top < 1e17 && sp_num_of(v) != d) continue;
    return sp__puts(t, digits.data);
  }
}

// sp_number is null for infinity and for no number; with an exponent over 22 the last digit may differ.
SP__UNUSED sp_json sp_number(double d) {
  sp__text t = {0, 0, 0};
  if (d - d != 0) return sp__new(SP__NULL);
  sp__put_double(&t, d);
  sp_json v = sp__new(SP__NUM);
  v->text = t.data, v->size = t.size;
  return v;
}

SP__UNUSED sp_json sp__append(sp_json to, sp_json v) {
  if (!to || !v) return to;
  if (v->listed) { // a value has one place: the second gets a copy
    sp_json copy = sp__new(v->kind);
    *copy = *v;
    copy->next = 0, copy->key = 0;
    v = copy;
  }
  v->listed = 1;
  if (to->last) to->last->next = v;
  else to->first = v;
  to->last = v;
  return to;
}

// sp_set adds a member to an object, and ignores a value of NULL.
SP__UNUSED sp_json sp_set(sp_json object, const char *key, sp_json v) {
  if (!object || !v) return object;
  sp__append(object, v);
  object->last->key = key;
  return object;
}
// sp_add adds an element to an array.
SP__UNUSED sp_json sp_add(sp_json array, sp_json v) { return sp__append(array, v); }

// sp_object takes keys and values: sp_object("a", sp_integer(1), "b", sp_string("x")). A value of NULL leaves its key out.
#define sp_object(...) sp__object(0 __VA_OPT__(,) __VA_ARGS__, (char *)0)
SP__UNUSED __attribute__((sentinel)) sp_json sp__object(int none, ...) {
  sp_json o = sp__new(SP__OBJ);
  __builtin_va_list list;
  __builtin_va_start(list, none);
  for (const char *key; (key = __builtin_va_arg(list, const char *));) sp_set(o, key, __builtin_va_arg(list, sp_json));
  __builtin_va_end(list);
  return o;
}
// sp_array takes values, none of which is NULL: sp_add adds others.
#define sp_array(...) sp__array(0 __VA_OPT__(,) __VA_ARGS__, (sp_json)0)
SP__UNUSED __attribute__((sentinel)) sp_json sp__array(int none, ...) {
  sp_json a = sp__new(SP__ARR);
  __builtin_va_list list;
  __builtin_va_start(list, none);
  for (sp_json v; (v = __builtin_va_arg(list, sp_json));) sp_add(a, v);
  __builtin_va_end(list);
  return a;
}

// sp_get returns a member of an object, or NULL.
SP__UNUSED sp_json sp_get(sp_json v, const char *key) {
  if (v && v->kind == SP__OBJ)
    for (sp_json m = v->first; m; m = m->next)
      if (sp_equal(m->key, key)) return m;
  return 0;
}
// sp_each goes through a list: sp_each(line, sp_get(args, "lines")) { … }
#define sp_each(item, list) for (sp_json item = sp__first(list); item; item = item->next)
SP__UNUSED sp_json sp__first(sp_json v) { return v ? v->first : 0; }
SP__UNUSED int sp_count(sp_json v) {
  int n = 0;
  sp_each(item, v) n++;
  return n;
}
SP__UNUSED sp_json sp_at(sp_json v, int i) {
  sp_each(item, v) if (!i--) return item;
  return 0;
}
SP__UNUSED int sp_is_null(sp_json v) { return !v || v->kind == SP__NULL; }

// The C value of a JSON value: "", 0 or false if it has another type.
SP__UNUSED const char *sp_str_of(sp_json v) { return v && v->kind == SP__STR ? v->text : ""; }
SP__UNUSED int sp_bool_of(sp_json v) { return v && v->kind == SP__TRUE; }
SP__UNUSED double sp_num_of(sp_json v) {
  if (!v || v->kind != SP__NUM) return 0;
  const char *s = v->text;
  double d = 0;
  int minus = *s == '-', exponent = 0, down = 0, e = 0;
  for (s += minus; *s >= '0' && *s <= '9'; s++) d = d * 10 + (*s - '0');
  if (*s == '.')
    for (s++; *s >= '0' && *s <= '9'; s++) d = d * 10 + (*s - '0'), exponent--;
  if (*s == 'e' || *s == 'E') {
    down = *++s == '-';
    if (*s == '-' || *s == '+') s++;
    for (; *s >= '0' && *s <= '9' && e < 1000; s++) e = e * 10 + (*s - '0');
    exponent += down ? -e : e;
  }
  double power = 1, base = 10;
  for (int n = exponent < 0 ? -exponent : exponent; n; n >>= 1, base *= base)
    if (n & 1) power *= base;
  d = exponent < 0 ? d / power : d * power;
  return minus ? -d : d;
}
SP__UNUSED long long sp_int_of(sp_json v) {
  if (!v || v->kind != SP__NUM) return 0;
  const char *s = v->text;
  int minus = *s == '-';
  unsigned long long n = 0;
  for (s += minus; *s >= '0' && *s <= '9'; s++) n = n * 10 + (unsigned)(*s - '0');
  if (!*s) return (long long)(minus ? 0 - n : n);
  double d = sp_num_of(v);
  return d >= 9.2e18 || d <= -9.2e18 ? 0 : (long long)d;
}
SP__UNUSED const char *sp_str(sp_json v, const char *key) { return sp_str_of(sp_get(v, key)); }
SP__UNUSED long long sp_int(sp_json v, const char *key) { return sp_int_of(sp_get(v, key)); }
SP__UNUSED double sp_num(sp_json v, const char *key) { return sp_num_of(sp_get(v, key)); }
SP__UNUSED int sp_true(sp_json v, const char *key) { return sp_bool_of(sp_get(v, key)); }

SP__UNUSED void sp__write_string(sp__text *t, const char *s, sp_size n) {
  sp__puts(t, "\"");
  sp_size from = 0;
  for (sp_size i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 32 && c != '"' && c != '\\') continue;
    sp__add(t, s + from, i - from);
    from = i + 1;
    if (c >= 32) {
      char escaped[2] = {'\\', (char)c};
      sp__add(t, escaped, 2);
    } else {
      char escaped[6] = {'\\', 'u', '0', '0', (char)('0' + (c >> 4)), "0123456789abcdef"[c & 15]};
      sp__add(t, escaped, 6);
    }
  }
  sp__add(t, s + from, n - from);
  sp__puts(t, "\"");
}

SP__UNUSED void sp__write_json(sp__text *t, sp_json v) {
  switch (v ? v->kind : SP__NULL) {
  case SP__NULL: sp__puts(t, "null"); return;
  case SP__FALSE: sp__puts(t, "false"); return;
  case SP__TRUE: sp__puts(t, "true"); return;
  case SP__NUM: sp__add(t, v->text, v->size); return;
  case SP__STR: sp__write_string(t, v->text, v->size); return;
  case SP__ARR: case SP__OBJ: break;
  }
  sp__puts(t, v->kind == SP__ARR ? "[" : "{");
  sp_each(item, v) {
    if (item != v->first) sp__puts(t, ",");
    if (v->kind == SP__OBJ) {
      sp__write_string(t, item->key, strlen(item->key));
      sp__puts(t, ":");
    }
    sp__write_json(t, item);
  }
  sp__puts(t, v->kind == SP__ARR ? "]" : "}");
}

// sp_write returns the JSON text of a value.
SP__UNUSED const char *sp_write(sp_json v) {
  sp__text t = {0, 0, 0};
  sp__write_json(&t, v);
  return t.data;
}

typedef struct { const char *at, *end; int depth, failed; } sp__reader;

SP__UNUSED void sp__blank(sp__reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) r->at++;
}

SP__UNUSED unsigned sp__hex(sp__reader *r) {
  unsigned n = 0;
  for (int i = 0; i < 4 && r->at < r->end; i++) {
    char c = *r->at++;
    n = n * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return n;
}

SP__UNUSED void sp__put_rune(char *to, sp_size *size, unsigned c) {
  if (c < 0x80) to[(*size)++] = (char)c;
  else {
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[(*size)++] = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | c >> 6 * more);
    while (more--) to[(*size)++] = (char)(0x80 | ((c >> 6 * more) & 63));
  }
}

SP__UNUSED const char *sp__read_string(sp__reader *r, sp_size *size) {
  const char *begin = ++r->at;
  while (r->at < r->end && *r->at != '"') r->at += *r->at == '\\' ? 2 : 1;
  if (r->at >= r->end) {
    r->failed = 1;
    return "";
  }
  const char *end = r->at;
  char *to = (char *)sp_alloc((sp_size)(end - begin) + 1);
  *size = 0;
  for (r->at = begin; r->at < end;) {
    const char *plain = r->at;
    while (r->at < end && *r->at != '\\') r->at++;
    memcpy(to + *size, plain, (sp_size)(r->at - plain));
    *size += (sp_size)(r->at - plain);
    if (r->at == end) break;
    char c = *++r->at;
    r->at++;
    switch (c) {
    case 'n': to[(*size)++] = '\n'; break;
    case 'r': to[(*size)++] = '\r'; break;
    case 't': to[(*size)++] = '\t'; break;
    case 'b': to[(*size)++] = '\b'; break;
    case 'f': to[(*size)++] = '\f'; break;
    case 'u': {
      unsigned one = sp__hex(r);
      if (one >= 0xd800 && one < 0xe000) { // half of a pair, or alone and no character
        const char *back = r->at;
        unsigned two = 0;
        if (one < 0xdc00 && end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') r->at += 2, two = sp__hex(r);
        if (two >= 0xdc00 && two < 0xe000) one = 0x10000 + ((one - 0xd800) << 10) + (two - 0xdc00);
        else one = 0xfffd, r->at = back;
      }
      sp__put_rune(to, size, one);
      break;
    }
    default: to[(*size)++] = c;
    }
  }
  r->at = end + 1;
  return to;
}

SP__UNUSED sp_json sp__read_value(sp__reader *r);

SP__UNUSED sp_json sp__read_list(sp__reader *r, sp_json v, char end) {
  if (++r->depth > 500) r->failed = 1;
  for (r->at++, sp__blank(r); !r->failed && r->at < r->end && *r->at != end;) {
    const char *key = 0;
    sp_size size;
    if (end == '}') {
      if (*r->at != '"') break;
      key = sp__read_string(r, &size);
      sp__blank(r);
      if (r->at >= r->end || *r->at++ != ':') break;
    }
    sp_json item = sp__read_value(r);
    if (key) sp_set(v, key, item);
    else sp_add(v, item);
    sp__blank(r);
    if (r->at < r->end && *r->at == ',') r->at++, sp__blank(r);
    else if (r->at < r->end && *r->at != end) break;
  }
  if (r->failed || r->at >= r->end || *r->at++ != end) r->failed = 1;
  r->depth--;
  return v;
}

SP__UNUSED sp_json sp__read_value(sp__reader *r) {
  sp__blank(r);
  if (r->at >= r->end) return r->failed = 1, sp__new(SP__NULL);
  sp_size left = (sp_size)(r->end - r->at);
  const char *begin = r->at;
  switch (*r->at) {
  case '{': return sp__read_list(r, sp__new(SP__OBJ), '}');
  case '[': return sp__read_list(r, sp__new(SP__ARR), ']');
  case '"': {
    sp_json v = sp__new(SP__STR);
    v->text = sp__read_string(r, &v->size);
    return v;
  }
  case 't': if (left >= 4) return r->at += 4, sp__new(SP__TRUE); break;
  case 'f': if (left >= 5) return r->at += 5, sp__new(SP__FALSE); break;
  case 'n': if (left >= 4) return r->at += 4, sp__new(SP__NULL); break;
  default:
    while (r->at < r->end && (*r->at == '-' || *r->at == '+' || *r->at == '.' || (*r->at | 32) == 'e' || (*r->at >= '0' && *r->at <= '9'))) r->at++;
    if (r->at == begin) break;
    sp_json v = sp__new(SP__NUM);
    v->size = (sp_size)(r->at - begin), v->text = sp__copy(begin, v->size);
    return v;
  }
  return r->failed = 1, sp__new(SP__NULL);
}

SP__UNUSED sp_json sp__parse(const char *s, sp_size n) {
  sp__reader r = {s, s + n, 0, 0};
  sp_json v = sp__read_value(&r);
  sp__blank(&r);
  return r.failed || r.at != r.end ? 0 : v;
}
// sp_parse reads a JSON text; NULL if it is none.
SP__UNUSED sp_json sp_parse(const char *s) { return sp__parse(s, strlen(s)); }

// Bytes

SP__UNUSED sp_bytes sp_bytes_of(const void *data, sp_size size) {
  sp_bytes b = {data, size};
  return b;
}

SP__UNUSED sp_json sp_base64(sp_bytes b) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *p = (const unsigned char *)b.data;
  char *out = (char *)sp_alloc((b.size + 2) / 3 * 4 + 1), *to = out;
  for (sp_size i = 0; i < b.size; i += 3) {
    unsigned n = (unsigned)p[i] << 16 | (i + 1 < b.size ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < b.size ? p[i + 2] : 0);
    *to++ = digits[n >> 18], *to++ = digits[n >> 12 & 63];
    *to++ = i + 1 < b.size ? digits[n >> 6 & 63] : '=';
    *to++ = i + 2 < b.size ? digits[n & 63] : '=';
  }
  return sp__string(out, (sp_size)(to - out));
}

// Content

SP__UNUSED sp_json sp__marked(sp_json v, int block) {
  v->block = block;
  return v;
}
SP__UNUSED sp_json sp_text(const char *s) { return sp__marked(sp_object("type", sp_string("text"), "text", sp_string(s)), 1); }
SP__UNUSED sp_json sp_image(sp_bytes b, const char *mime_type) {
  return sp__marked(sp_object("type", sp_string("image"), "data", sp_base64(b), "mimeType", sp_string(mime_type)), 1);
}
SP__UNUSED sp_json sp_audio(sp_bytes b, const char *mime_type) {
  return sp__marked(sp_object("type", sp_string("audio"), "data", sp_base64(b), "mimeType", sp_string(mime_type)), 1);
}
SP__UNUSED sp_json sp_link(const char *uri, const char *name) {
  return sp__marked(sp_object("type", sp_string("resource_link"), "uri", sp_string(uri), "name", sp_string(name)), 1);
}
// sp_contents is a text of a resource, and sp_blob is bytes of one. uri and mime_type may be NULL in the result of a
// sp_resource.
SP__UNUSED sp_json sp_contents(const char *uri, const char *mime_type, const char *s) {
  return sp__marked(sp_object("uri", sp_string(uri), "mimeType", sp_string(mime_type), "text", sp_string(s)), 3);
}
SP__UNUSED sp_json sp_blob(const char *uri, const char *mime_type, sp_bytes b) {
  return sp__marked(sp_object("uri", sp_string(uri), "mimeType", sp_string(mime_type), "blob", sp_base64(b)), 3);
}
SP__UNUSED sp_json sp_embed(sp_json contents) { return sp__marked(sp_object("type", sp_string("resource"), "resource", contents), 1); }

SP__UNUSED sp_json sp__message(const char *role, sp_json block) { return sp__marked(sp_object("role", sp_string(role), "content", block), 2); }
SP__UNUSED sp_json sp_user(sp_json block) { return sp__message("user", block); }
SP__UNUSED sp_json sp_assistant(sp_json block) { return sp__message("assistant", block); }

// The call

struct sp_call {
  sp_json params;           // of the request
  const char *message;      // why the call fails; NULL if it does not
  int code;                 // of an MCP error; 0 is a result with isError
  sp_json data;             // of an MCP error
  const char *kind, *hint;  // of a refusal by the host: denied, unsupported, conflict, …
  int declined;             // the person said no to the last form
};

// sp_fail makes the call fail with a message to the model.
SP__UNUSED sp_json sp_fail(sp_call *c, const char *message) {
  c->message = message, c->code = 0;
  return 0;
}
// sp_error makes the call an MCP error: the request itself is wrong.
SP__UNUSED sp_json sp_error(sp_call *c, int code, const char *message) {
  c->message = message, c->code = code, c->data = 0;
  return 0;
}
// sp_not_found is the error of a resource that does not exist.
SP__UNUSED sp_json sp_not_found(sp_call *c) {
  sp_error(c, -32602, "resource not found");
  c->data = sp_object("uri", sp_get(c->params, "uri"));
  return 0;
}
// sp_refused returns the kind of the last refusal by the host, or NULL.
SP__UNUSED const char *sp_refused(sp_call *c) { return c->kind; }

SP__UNUSED sp_bytes sp__read_all(int stream) {
  sp__text t = {0, 0, 0};
  for (;;) {
    if (t.room - t.size < 4096) {
      char *bigger = (char *)sp_alloc((t.room + 4096) * 2);
      memcpy(bigger, t.data, t.size);
      t.data = bigger, t.room = (t.room + 4096) * 2;
    }
    int n = sp__read(stream, t.data + t.size, (int)(t.room - t.size - 1));
    if (n <= 0) break;
    t.size += (sp_size)n;
  }
  t.data[t.size] = 0;
  return sp_bytes_of(t.data, t.size);
}

SP__UNUSED int sp__write_all(int stream, const void *data, sp_size size) {
  for (const char *p = (const char *)data; size;) {
    int n = sp__write(stream, p, (int)size);
    if (n <= 0) return n ? n : -29;
    p += n, size -= (sp_size)n;
  }
  return 0;
}

SP__UNUSED sp_json sp__take_refusal(sp_call *c, sp_json error) {
  sp_json data = sp_get(error, "data"), required = sp_get(data, "requiredCapabilities");
  c->message = sp_str(error, "message"), c->code = 0, c->data = 0;
  c->kind = sp_get(data, "kind") ? sp_str(data, "kind") : "unavailable", c->hint = sp_str(data, "hint");
  if (required) c->code = -32603, c->data = sp_object("kind", sp_string(c->kind), "requiredCapabilities", required);
  return 0;
}

// sp_ask makes any request of the host; NULL is a refusal.
SP__UNUSED sp_json sp_ask(sp_call *c, const char *method, sp_json params) {
  const char *request = sp_write(sp_object("method", sp_string(method), "params", params));
  c->kind = 0;
  long long n = sp__ask(request, (int)strlen(request));
  if (n < 0) {
    c->kind = n == -11 ? "timeout" : "unavailable", c->code = 0;
    c->message = n == -11 ? "the call was cancelled" : sp_format("host error number %lld", -n);
    return 0;
  }
  sp_bytes text = sp__read_all((int)(n >> 32));
  sp__close((int)(n >> 32));
  sp_json answer = sp__parse((const char *)text.data, text.size), error = sp_get(answer, "error");
  if (error) return sp__take_refusal(c, error);
  sp_json result = sp_get(answer, "result");
  return result ? result : sp__new(SP__NULL);
}

SP__UNUSED sp_json sp__schema(const sp_field *fields, int closed);

// sp_elicit asks the person to fill in a form. NULL without sp_refused: the person declined it, which sp_declined tells, or
// dismissed it.
SP__UNUSED sp_json sp_elicit(sp_call *c, const char *message, const sp_field *form) {
  sp_json answer = sp_ask(c, "elicitation/create", sp_object("mode", sp_string("form"), "message", sp_string(message), "requestedSchema", sp__schema(form, 0)));
  c->declined = sp_equal(sp_str(answer, "action"), "decline");
  return sp_equal(sp_str(answer, "action"), "accept") ? sp_get(answer, "content") : 0;
}
SP__UNUSED int sp_declined(sp_call *c) { return c->declined; }
// sp_sample asks the client's model; sp_texts returns the text of the answer.
SP__UNUSED sp_json sp_sample(sp_call *c, const char *prompt, int max_tokens) {
  return sp_ask(c, "sampling/createMessage", sp_object("messages", sp_array(sp_user(sp_text(prompt))), "maxTokens", sp_integer(max_tokens)));
}
// sp_texts joins the texts of a result's blocks.
SP__UNUSED const char *sp_texts(sp_json result) {
  sp__text t = {0, 0, 0};
  sp_json content = sp_get(result, "content");
  sp__puts(&t, sp_str(content, "text"));
  if (content && content->kind == SP__ARR) sp_each(block, content) sp__puts(&t, sp_str(block, "text"));
  return t.data;
}
// sp_roots returns a list of {"uri", "name"}.
SP__UNUSED sp_json sp_roots(sp_call *c) { return sp_get(sp_ask(c, "roots/list", 0), "roots"); }
// sp_call_tool calls a tool of any plugin by its public name, and returns its whole result. A tool that failed is NULL.
SP__UNUSED sp_json sp_call_tool(sp_call *c, const char *name, sp_json args) {
  sp_json result = sp_ask(c, "tools/call", sp_object("name", sp_string(name), "arguments", args));
  return sp_true(result, "isError") ? sp_fail(c, sp_texts(result)) : result;
}

// Keys, under a kv grant. sp_kv_get returns {"value", "version"}; 0 is the version of an absent key. An if_version of
// SP_ANY_VERSION sets no condition; else another version is a refusal of the kind conflict.
#define SP_ANY_VERSION (-(1ll << 62))
SP__UNUSED sp_json sp_kv_get(sp_call *c, const char *key) { return sp_ask(c, "kv/get", sp_object("key", sp_string(key))); }
SP__UNUSED sp_json sp_kv_set(sp_call *c, const char *key, sp_json value, long long if_version) {
  return sp_ask(c, "kv/set", sp_object("key", sp_string(key), "value", value, "ifVersion", if_version == SP_ANY_VERSION ? 0 : sp_integer(if_version)));
}
SP__UNUSED sp_json sp_kv_delete(sp_call *c, const char *key) { return sp_ask(c, "kv/delete", sp_object("key", sp_string(key))); }
// sp_kv_list returns all keys with a prefix, a list of {"key", "version"}.
SP__UNUSED sp_json sp_kv_list(sp_call *c, const char *prefix) {
  sp_json keys = sp_array(), answer = 0;
  do {
    answer = sp_ask(c, "kv/list", sp_object("prefix", sp_string(prefix), "after", sp_get(keys->last, "key")));
    if (!answer) return 0;
    sp_each(key, sp_get(answer, "keys")) sp_add(keys, key);
  } while (sp_true(answer, "more"));
  return keys;
}

// The web, under a net grant. A status of 0 is a refusal.
typedef struct { int status; const char *url; sp_json headers; sp_bytes body; } sp_response;
SP__UNUSED sp_response sp_fetch(sp_call *c, const char *method, const char *url, sp_json headers, sp_bytes body) {
  sp_response r = {0, url, 0, {"", 0}};
  sp_json stream = 0;
  if (body.data) {
    stream = sp_ask(c, "stream/open", sp_object());
    if (!stream) return r;
    if (sp__write_all((int)sp_int(stream, "dev.sallyport/stream"), body.data, body.size)) {
      c->kind = "limit", c->message = "the body is over the host's limit";
      return r;
    }
  }
  sp_json answer = sp_ask(c, "http/fetch", sp_object("method", sp_string(method), "url", sp_string(url), "headers", headers, "body", stream));
  if (!answer) return r;
  sp_json got = sp_get(answer, "body");
  r.status = (int)sp_int(answer, "status"), r.url = sp_str(answer, "url"), r.headers = sp_get(answer, "headers");
  if (got && got->kind == SP__STR) r.body = sp_bytes_of(got->text, got->size);
  else if (got && got->kind == SP__OBJ) {
    r.body = sp__read_all((int)sp_int(got, "dev.sallyport/stream"));
    sp__close((int)sp_int(got, "dev.sallyport/stream"));
  }
  return r;
}
SP__UNUSED sp_response sp_fetch_url(sp_call *c, const char *url) { return sp_fetch(c, "GET", url, 0, sp_bytes_of(0, 0)); }

// sp__notify makes a request whose refusal leaves the call as it is.
SP__UNUSED void sp__notify(sp_call *c, const char *method, sp_json params) {
  sp_call before = *c;
  sp_ask(c, method, params);
  *c = before;
}

// sp_progress reports done of total; a total of 0 is unknown, and message may be NULL.
SP__UNUSED void sp_progress(sp_call *c, double done, double total, const char *message) {
  sp_json token = sp_get(sp_get(c->params, "_meta"), "progressToken");
  if (token) sp__notify(c, "notifications/progress", sp_object("progressToken", token, "progress", sp_number(done), "total", total ? sp_number(total) : 0, "message", sp_string(message)));
}
// sp_log sends a log message; level is debug, info, notice, warning or error.
SP__UNUSED void sp_log(sp_call *c, const char *level, sp_json data) {
  sp__notify(c, "notifications/message", sp_object("level", sp_string(level), "data", data));
}
// sp_show adds hidden entries to the caller's list of "tools", "resources" or "prompts", and sp_hide removes entries. names
// is a sp_array of their names or URIs.
SP__UNUSED void sp__change(sp_call *c, const char *list, const char *verb, sp_json names) {
  sp__notify(c, sp_format("notifications/%s/list_changed", list), sp_object(verb, names));
}
SP__UNUSED void sp_show(sp_call *c, const char *list, sp_json names) { sp__change(c, list, "show", names); }
SP__UNUSED void sp_hide(sp_call *c, const char *list, sp_json names) { sp__change(c, list, "hide", names); }
// sp_resource_updated tells subscribers that the content of a resource has changed.
SP__UNUSED void sp_resource_updated(sp_call *c, const char *uri) { sp__notify(c, "notifications/resources/updated", sp_object("uri", sp_string(uri))); }
// sp_release lets the client's connection end while the call goes on, if the client can fetch the result later.
SP__UNUSED void sp_release(sp_call *c) { sp__notify(c, "client/release", sp_object()); }
// sp_config returns a value of the operator's config grants, or the fallback.
SP__UNUSED const char *sp_config(const char *key, const char *fallback) {
  sp_size count = 0, size = 0;
  if (sp__environ_sizes(&count, &size)) return fallback;
  char **entries = (char **)sp_alloc((count + 1) * sizeof *entries);
  if (sp__environ(entries, (char *)sp_alloc(size + 1))) return fallback;
  for (sp_size i = 0; i < count; i++)
    if (sp_starts(entries[i], key) && entries[i][strlen(key)] == '=') return entries[i] + strlen(key) + 1;
  return fallback;
}
// sp_random fills memory with random numbers for secrets.
SP__UNUSED void sp_random(void *p, sp_size size) {
  if (sp__random(p, size)) __builtin_trap();
}

// Schemas

SP__UNUSED void sp__merge(sp_json object, const char *members) {
  if (!members) return;
  sp_json more = sp_parse(sp_format("{%s}", members));
  if (!more) __builtin_trap(); // the plugin's own text is no JSON
  sp_each(m, more) sp_set(object, m->key, m);
}

SP__UNUSED sp_json sp__values(const char *s) {
  sp_json list = sp_array();
  while (*s) {
    const char *end = s;
    while (*end && *end != ',') end++;
    sp_add(list, sp__string(sp__copy(s, (sp_size)(end - s)), (sp_size)(end - s)));
    s = *end ? end + 1 : end;
  }
  return list;
}

SP__UNUSED sp_json sp__field_schema(const sp_field *f, int closed) {
  static const char *const names[] = {0, "string", "integer", "number", "boolean", "object", "string", "integer", "number", "object"};
  sp_json s = f->type == SP_OBJECT || f->type == SP_OBJECTS ? sp__schema(f->fields, closed) : sp_object("type", sp_string(names[f->type]));
  if (f->type >= SP_STRINGS) s = sp_object("type", sp_string("array"), "items", s);
  sp_set(s, "description", sp_string(f->doc));
  if (f->values) sp_set(s, "enum", sp__values(f->values));
  if (f->fallback) sp_set(s, "default", sp_parse(f->fallback));
  sp__merge(s, f->keywords);
  return s;
}

SP__UNUSED sp_json sp__schema(const sp_field *fields, int closed) {
  sp_json properties = sp_object(), required = sp_array();
  for (const sp_field *f = fields; f && f->name; f++) {
    sp_set(properties, f->name, sp__field_schema(f, closed));
    if (!f->optional && !f->fallback) sp_add(required, sp_string(f->name));
  }
  return sp_object("type", sp_string("object"), "properties", properties, "required", required->first ? required : 0,
                   "additionalProperties", closed ? sp_bool(0) : 0);
}

// sp__fill sets absent members to their fallbacks, at every depth.
SP__UNUSED void sp__fill(sp_json v, const sp_field *f) {
  for (; v && v->kind == SP__OBJ && f && f->name; f++) {
    if (f->fallback && !sp_get(v, f->name)) sp_set(v, f->name, sp_parse(f->fallback));
    sp_json member = sp_get(v, f->name);
    if (f->type == SP_OBJECT) sp__fill(member, f->fields);
    if (f->type == SP_OBJECTS) sp_each(item, member) sp__fill(item, f->fields);
  }
}

// Requests

SP__UNUSED sp_json sp__entry(const char *key, const char *value, const char *name, const char *description) {
  sp_json e = sp_object();
  if (key) sp_set(e, key, sp_string(value));
  sp_set(e, "name", sp_string(name));
  return sp_set(e, "description", sp_string(description));
}

SP__UNUSED sp_json sp__hints(int hints) {
  sp_json o = sp_object();
  if (hints & SP_READ_ONLY) sp_set(o, "readOnlyHint", sp_bool(1));
  if (hints & (SP_DESTRUCTIVE | SP_NOT_DESTRUCTIVE)) sp_set(o, "destructiveHint", sp_bool(hints & SP_DESTRUCTIVE));
  if (hints & SP_IDEMPOTENT) sp_set(o, "idempotentHint", sp_bool(1));
  if (hints & (SP_OPEN_WORLD | SP_CLOSED_WORLD)) sp_set(o, "openWorldHint", sp_bool(hints & SP_OPEN_WORLD));
  return o->first ? o : 0;
}

SP__UNUSED int sp__is_template(const char *uri) {
  while (*uri && *uri != '{') uri++;
  return *uri != 0;
}

SP__UNUSED sp_json sp__describe(const sp_plugin *p) {
  sp_json tools = sp_array(), resources = sp_array(), templates = sp_array(), prompts = sp_array(), wants = sp_array();
  for (const sp_tool *t = p->tools; t && t->name; t++) {
    sp_json e = sp__entry(0, 0, t->name, t->description);
    sp_set(e, "inputSchema", sp__schema(t->input, 1));
    if (t->output) sp_set(e, "outputSchema", sp__schema(t->output, 0));
    sp_set(e, "annotations", sp__hints(t->hints));
    sp__merge(e, t->also);
    sp_add(tools, e);
  }
  for (const sp_resource *r = p->resources; r && r->uri; r++) {
    int is_template = sp__is_template(r->uri);
    sp_json e = sp__entry(is_template ? "uriTemplate" : "uri", r->uri, r->name, r->description);
    sp_set(e, "mimeType", sp_string(r->mime_type));
    sp__merge(e, r->also);
    sp_add(is_template ? templates : resources, e);
  }
  for (const sp_prompt *q = p->prompts; q && q->name; q++) {
    sp_json e = sp__entry(0, 0, q->name, q->description), list = sp_array();
    for (const sp_field *f = q->arguments; f && f->name; f++)
      sp_add(list, sp_object("name", sp_string(f->name), "description", sp_string(f->doc), "required", f->optional || f->fallback ? 0 : sp_bool(1)));
    if (list->first) sp_set(e, "arguments", list);
    sp__merge(e, q->also);
    sp_add(prompts, e);
  }
  for (const sp_want *w = p->wants; w && w->family; w++) sp_add(wants, sp_object(w->family, sp_parse(w->grant), "why", sp_string(w->why)));
  sp_json all = sp_object("name", sp_string(p->name), "version", sp_string(p->version), "description", sp_string(p->description), "tools", tools,
                          "resources", resources, "resourceTemplates", templates, "prompts", prompts, "wants", wants);
  sp__merge(all, p->also);
  return all;
}

SP__UNUSED sp_json sp__tool_result(sp_json v) {
  if (v->kind == SP__OBJ && sp_get(v, "content")) return v;
  if (v->block == 1) return sp_object("content", sp_array(v));
  if (v->kind == SP__ARR && (!v->first || v->first->block == 1)) return sp_object("content", v);
  sp_json texts = sp_array(sp_text(v->kind == SP__STR ? v->text : sp_write(v)));
  return sp_object("content", texts, "structuredContent", v->kind == SP__OBJ ? v : 0);
}

SP__UNUSED sp_json sp__call_tool(const sp_plugin *p, sp_call *c) {
  const char *name = sp_str(c->params, "name");
  for (const sp_tool *t = p->tools; t && t->name; t++) {
    if (!sp_equal(t->name, name)) continue;
    sp_json args = sp_get(c->params, "arguments");
    if (!args) args = sp_object();
    sp__fill(args, t->input);
    sp_json v = t->call(c, args);
    if (v) return sp__tool_result(v);
    if (c->code) return 0;
    return sp_object("content", sp_array(sp_text(c->message ? c->message : "the tool failed")), "isError", sp_bool(1));
  }
  return sp_error(c, -32602, sp_format("unknown tool: %s", name));
}

SP__UNUSED const char *sp__unescape(const char *s, sp_size n) {
  char *out = (char *)sp_alloc(n + 1), *to = out;
  for (sp_size i = 0; i < n; i++) {
    if (s[i] == '%' && i + 2 < n) {
      sp__reader r = {s + i + 1, s + i + 3, 0, 0};
      *to++ = (char)sp__hex(&r), i += 2;
    } else *to++ = s[i];
  }
  return out;
}

// sp__match returns the variables of a template, or NULL.
SP__UNUSED sp_json sp__match(const char *pattern, const char *uri) {
  sp_json vars = sp_object();
  while (*pattern) {
    if (*pattern != '{') {
      if (*pattern++ != *uri++) return 0;
      continue;
    }
    int rest = *++pattern == '+';
    const char *name = pattern += rest, *value = uri;
    while (*pattern && *pattern != '}') pattern++;
    const char *key = sp__copy(name, (sp_size)(pattern - name));
    if (*pattern) pattern++;
    while (*uri && *uri != *pattern && (rest || (*uri != '/' && *uri != '?' && *uri != '#'))) uri++;
    if (uri == value) return 0;
    sp_set(vars, key, sp_string(sp__unescape(value, (sp_size)(uri - value))));
  }
  return *uri ? 0 : vars;
}

SP__UNUSED sp_json sp__read_resource(const sp_plugin *p, sp_call *c) {
  const char *uri = sp_str(c->params, "uri");
  const sp_resource *found = 0;
  sp_json vars = 0;
  for (int templates = 0; templates < 2 && !found; templates++)
    for (const sp_resource *r = p->resources; r && r->uri && !found; r++)
      if (sp__is_template(r->uri) == templates && (vars = templates ? sp__match(r->uri, uri) : sp_equal(r->uri, uri) ? sp_object() : 0)) found = r;
  if (!found) return sp_not_found(c);
  sp_json v = found->read(c, vars);
  if (!v) return c->message ? 0 : sp_not_found(c);
  if (sp_get(v, "contents")) return v;
  if (v->block == 1) v = sp_contents(0, 0, sp_str(v, "text"));
  if (v->block != 3 && !(v->kind == SP__ARR && v->first && v->first->block == 3)) v = sp_contents(0, 0, v->kind == SP__STR ? v->text : sp_write(v));
  sp_json all = v->kind == SP__ARR ? v : sp_array(v);
  sp_each(one, all) {
    if (!sp_get(one, "uri")) sp_set(one, "uri", sp_string(uri));
    if (!sp_get(one, "mimeType")) sp_set(one, "mimeType", sp_string(found->mime_type));
  }
  return sp_object("contents", all);
}

SP__UNUSED const sp_prompt *sp__find_prompt(const sp_plugin *p, const char *name) {
  for (const sp_prompt *q = p->prompts; q && q->name; q++)
    if (sp_equal(q->name, name)) return q;
  return 0;
}

SP__UNUSED sp_json sp__get_prompt(const sp_plugin *p, sp_call *c) {
  const sp_prompt *q = sp__find_prompt(p, sp_str(c->params, "name"));
  if (!q) return sp_error(c, -32602, sp_format("unknown prompt: %s", sp_str(c->params, "name")));
  sp_json args = sp_get(c->params, "arguments");
  if (!args) args = sp_object();
  for (const sp_field *f = q->arguments; f && f->name; f++)
    if (!f->optional && !f->fallback && !sp_get(args, f->name)) return sp_error(c, -32602, sp_format("argument %s is missing", f->name));
  sp__fill(args, q->arguments);
  sp_json v = q->get(c, args);
  if (!v) return c->message ? 0 : sp_error(c, -32603, "the prompt failed");
  if (sp_get(v, "messages")) return v;
  if (v->kind == SP__STR) v = sp_text(v->text);
  if (v->block == 1) v = sp_user(v);
  return sp_object("messages", v->kind == SP__ARR ? v : sp_array(v));
}

// sp_fitting returns those texts of a list with commas that begin with the typed text, for a handler's complete.
SP__UNUSED sp_json sp_fitting(sp_json args, const char *all) {
  sp_json fit = sp_array();
  for (sp_json v = sp__first(sp__values(all)), next; v; v = next) {
    next = v->next;
    if (sp_starts(sp_str_of(v), sp_str(args, "value"))) sp_add(fit, v);
  }
  return fit;
}

SP__UNUSED sp_json sp__complete(const sp_plugin *p, sp_call *c) {
  sp_json argument = sp_get(c->params, "argument"), values = 0;
  sp_json ref = sp_get(c->params, "ref");
  const sp_prompt *q = sp__find_prompt(p, sp_str(ref, "name"));
  sp_handler complete = q ? q->complete : 0;
  for (const sp_resource *r = p->resources; !q && r && r->uri; r++)
    if (sp_equal(r->uri, sp_str(ref, "uri"))) complete = r->complete;
  if (complete)
    values = complete(c, sp_object("argument", sp_get(argument, "name"), "value", sp_get(argument, "value"), "of", sp_get(ref, q ? "name" : "uri"),
                                   "arguments", sp_get(sp_get(c->params, "context"), "arguments")));
  if (!values && c->message) return 0;
  sp_json sent = sp_array();
  int total = 0;
  for (sp_json v = sp__first(values), next; v; v = next) {
    next = v->next;
    if (total++ < 100) sp_add(sent, sp_string(sp_str_of(v)));
  }
  return sp_object("completion", sp_object("values", sent, "total", sp_integer(total), "hasMore", total > 100 ? sp_bool(1) : 0));
}

SP__UNUSED sp_json sp__answer(const sp_plugin *p, sp_call *c, const char *method) {
  if (sp_equal(method, "plugin/describe")) return sp__describe(p);
  if (sp_equal(method, "tools/call")) return sp__call_tool(p, c);
  if (sp_equal(method, "resources/read")) return sp__read_resource(p, c);
  if (sp_equal(method, "prompts/get")) return sp__get_prompt(p, c);
  if (sp_equal(method, "completion/complete")) return sp__complete(p, c);
  return sp_error(c, -32601, sp_format("method not found: %s", method));
}

SP__UNUSED int sp__handle(const sp_plugin *p) {
  sp__release();
  sp_bytes text = sp__read_all(0);
  sp_json request = sp__parse((const char *)text.data, text.size);
  sp_call c = {sp_get(request, "params"), 0, 0, 0, 0, 0, 0};
  sp_json result = request ? sp__answer(p, &c, sp_str(request, "method")) : sp_error(&c, -32602, "the request is not JSON");
  sp_json answer = result ? sp_object("result", result)
                          : sp_object("error", sp_object("code", sp_integer(c.code ? c.code : -32603), "message", sp_string(c.message ? c.message : "failed"), "data", c.data));
  sp__text out = {0, 0, 0};
  sp__write_json(&out, answer);
  return sp__write_all(1, out.data, out.size) ? 29 : 0;
}

#endif
