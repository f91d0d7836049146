// The JavaScript engine of scripts: QuickJS-ng as a plugin of the native ABI. The host writes a blob to the memory of the
// module, as a data segment: the library of scripts (runtime.js), the script itself and its source map. _initialize
// evaluates both before the image is taken, and mcp_handle passes each request to the library.
//
// This file is only what JavaScript cannot do by itself: the four imports of the ABI, random numbers, sleep, UTF-8. The
// library has everything else.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "quickjs.h"
#include "runs.h"

#define IMPORT(name) __attribute__((import_module("sallyport"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("read") int32_t sp_read(int32_t stream, void *p, int32_t size);
IMPORT("write") int32_t sp_write(int32_t stream, const void *p, int32_t size);
IMPORT("call") int64_t sp_call(const void *p, int32_t size);
IMPORT("close") int32_t sp_close(int32_t stream);

// The blob lies above everything that is allocated before it is copied: the heap begins at some 1.3 MiB. Package script
// has the same numbers.
#define BLOB_AT (6u << 20)
#define BLOB_MAGIC 0x314a5053u // "SPJ1"

struct blob {
    uint32_t magic, library, script, map; // sizes in bytes; each text ends in a NUL that is not counted
};

// The most texts of which the library makes a response.
#define MOST_TEXTS 8

// The steps of an import: one of the interrupt handler is some 10,000 loops or calls.
#define IMPORT_STEPS 4000
// The stack that JavaScript may use; the linker reserves 1 MiB.
#define STACK (384 << 10)
// Cycles are collected when this much is allocated: a call ends long before, and its memory with it.
#define GC_AT (24u << 20)

static JSContext *ctx;
static JSValue begin, step, take, reject, describe; // functions of the library
static char *map;
static uint32_t map_size;
static char *failure; // why the script cannot serve, as a response
static int importing, steps;
static uint64_t seed[2];
static int seeded;

// UTF-8 of a string, in which lone surrogates are U+FFFD. The caller frees it with JS_FreeCString.
static char *text_of(JSValueConst v, size_t *size)
{
    int64_t units;
    char *s = (char *)JS_ToCStringLen(ctx, size, v);
    if (!s || (JS_IsString(v) && !JS_GetLength(ctx, v, &units) && units == *size))
        return s; // ASCII has as many bytes as units
    char *end = s + *size;
    for (char *p = s; (p = memchr(p, 0xed, end - p)); p++) {
        if ((unsigned char)p[1] >= 0xa0) // the text ends in a NUL
            memcpy(p, "\xef\xbf\xbd", 3);
    }
    return s;
}

// One code point of UTF-8 as the Encoding Standard decodes it; -1 for a maximal invalid part, which n covers.
static int32_t decode_one(const uint8_t *p, size_t size, size_t *n)
{
    uint8_t c = p[0], low = 0x80, high = 0xbf;
    int more;
    int32_t r;
    *n = 1;
    if (c < 0x80)
        return c;
    if (c >= 0xc2 && c <= 0xdf) {
        more = 1, r = c & 0x1f;
    } else if (c >= 0xe0 && c <= 0xef) {
        more = 2, r = c & 0xf;
        if (c == 0xe0) low = 0xa0;
        if (c == 0xed) high = 0x9f;
    } else if (c >= 0xf0 && c <= 0xf4) {
        more = 3, r = c & 7;
        if (c == 0xf0) low = 0x90;
        if (c == 0xf4) high = 0x8f;
    } else {
        return -1;
    }
    for (; more > 0; more--) {
        if (*n >= size || p[*n] < low || p[*n] > high)
            return -1;
        r = r << 6 | (p[(*n)++] & 0x3f);
        low = 0x80, high = 0xbf;
    }
    return r;
}

static JSValue decode(const uint8_t *p, size_t size, int fatal)
{
    if (!high_bytes(p, size))
        return JS_NewStringLen(ctx, (const char *)p, size);
    uint16_t *out = js_malloc(ctx, (size ? size : 1) * 2);
    size_t len = 0;
    if (!out)
        return JS_EXCEPTION;
    for (size_t i = 0, n; i < size; i += n) {
        int32_t r = decode_one(p + i, size - i, &n);
        if (r < 0 && fatal) {
            js_free(ctx, out);
            return JS_ThrowTypeError(ctx, "The encoded data was not valid for encoding utf-8");
        }
        if (r < 0)
            r = 0xfffd;
        if (r >= 0x10000) {
            out[len++] = 0xd800 + ((r - 0x10000) >> 10);
            out[len++] = 0xdc00 + ((r - 0x10000) & 0x3ff);
        } else {
            out[len++] = r;
        }
    }
    JSValue s = JS_NewStringUTF16(ctx, out, len);
    js_free(ctx, out);
    return s;
}

// The value of a JSON text of the host, which ends in a NUL that is not counted.
static JSValue parse(const char *text, size_t size) { return JS_ParseJSON(ctx, text, size, "the host's JSON"); }

// An argument as bytes of an ArrayBuffer.
static uint8_t *bytes_of(JSValueConst v, size_t *size) { return JS_GetArrayBuffer(ctx, size, v); }

// ask(request: string): the value of the answer. A failure of the import itself is thrown.
static JSValue js_ask(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    char *request = text_of(argv[0], &size);
    if (!request)
        return JS_EXCEPTION;
    int64_t r = sp_call(request, size);
    JS_FreeCString(c, request);
    if (r == -ENOSYS)
        return JS_ThrowTypeError(c, "the host can only be asked during a call, not while the script is imported");
    if (r < 0)
        return JS_ThrowInternalError(c, "the host refused the request with error %d", (int)-r);
    int32_t stream = r >> 32;
    uint32_t length = (uint32_t)r;
    char *answer = js_malloc(c, length + 1);
    uint32_t have = 0;
    while (answer && have < length) {
        int32_t n = sp_read(stream, answer + have, length - have);
        if (n <= 0)
            break;
        have += n;
    }
    sp_close(stream);
    if (!answer)
        return JS_EXCEPTION;
    answer[have] = 0;
    JSValue v = parse(answer, have);
    js_free(c, answer);
    return v;
}

// read(stream, max): ArrayBuffer, which is empty at the end.
static JSValue js_read(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    int32_t stream, max;
    if (JS_ToInt32(c, &stream, argv[0]) || JS_ToInt32(c, &max, argv[1]))
        return JS_EXCEPTION;
    uint8_t *p = js_malloc(c, max > 0 ? max : 1);
    if (!p)
        return JS_EXCEPTION;
    int32_t n = sp_read(stream, p, max);
    JSValue v = n < 0 ? JS_ThrowTypeError(c, "reading failed with error %d", -n) : JS_NewArrayBufferCopy(c, p, n);
    js_free(c, p);
    return v;
}

// write(stream, ArrayBuffer): number, below 0 for an error.
static JSValue js_write(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    int32_t stream;
    size_t size;
    if (JS_ToInt32(c, &stream, argv[0]))
        return JS_EXCEPTION;
    uint8_t *p = bytes_of(argv[1], &size);
    if (!p && JS_HasException(c))
        return JS_EXCEPTION;
    return JS_NewInt32(c, size ? sp_write(stream, p, size) : 0);
}

static JSValue js_close(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    int32_t stream;
    if (JS_ToInt32(c, &stream, argv[0]))
        return JS_EXCEPTION;
    return JS_NewInt32(c, sp_close(stream));
}

// random(size): ArrayBuffer
static JSValue js_random(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    int32_t size;
    uint8_t p[256];
    if (JS_ToInt32(c, &size, argv[0]))
        return JS_EXCEPTION;
    if (size < 0 || size > (int32_t)sizeof p || getentropy(p, size))
        return JS_ThrowTypeError(c, "no random numbers");
    return JS_NewArrayBufferCopy(c, p, size);
}

// The generator of Math.random, xoroshiro128+, is seeded by the host for each call.
EXPORT("sallyport_reseed") void sallyport_reseed(uint64_t low, uint64_t high)
{
    seed[0] = low, seed[1] = high | !(low | high);
    seeded = 1;
}

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static JSValue js_math_random(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    if (!seeded) {
        uint64_t fresh[2] = {1, 2};
        getentropy(fresh, sizeof fresh);
        sallyport_reseed(fresh[0], fresh[1]);
    }
    uint64_t a = seed[0], b = seed[1], sum = a + b;
    b ^= a;
    seed[0] = rotate(a, 24) ^ b ^ b << 16;
    seed[1] = rotate(b, 37);
    return JS_NewFloat64(c, (double)(sum >> 11) * 0x1p-53);
}

// sleep(milliseconds)
static JSValue js_sleep(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    double ms;
    if (JS_ToFloat64(c, &ms, argv[0]))
        return JS_EXCEPTION;
    if (ms > 0 && !importing) {
        struct timespec t = {(time_t)(ms / 1000), (long)((ms - 1000.0 * (time_t)(ms / 1000)) * 1e6)};
        nanosleep(&t, NULL);
    }
    return JS_UNDEFINED;
}

// log(text) writes a line to standard error, which is the host's log.
static JSValue js_log(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    char *s = text_of(argv[0], &size);
    if (!s)
        return JS_EXCEPTION;
    write(2, s, size);
    JS_FreeCString(c, s);
    return JS_UNDEFINED;
}

// encode(text): ArrayBuffer
static JSValue js_encode(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    char *s = text_of(argv[0], &size);
    if (!s)
        return JS_EXCEPTION;
    JSValue v = JS_NewArrayBufferCopy(c, (uint8_t *)s, size);
    JS_FreeCString(c, s);
    return v;
}

// decode(ArrayBuffer, offset, length, fatal): string
static JSValue js_decode(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    uint32_t offset, length;
    uint8_t *p = bytes_of(argv[0], &size);
    if (!p && JS_HasException(c))
        return JS_EXCEPTION;
    if (JS_ToUint32(c, &offset, argv[1]) || JS_ToUint32(c, &length, argv[2]))
        return JS_EXCEPTION;
    if (offset > size || length > size - offset)
        return JS_ThrowRangeError(c, "outside of the buffer");
    return decode(p + offset, length, JS_ToBool(c, argv[3]));
}

// env(name): string or undefined, of the operator's config grants
static JSValue js_env(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    char *name = text_of(argv[0], &size);
    if (!name)
        return JS_EXCEPTION;
    char *value = getenv(name);
    JS_FreeCString(c, name);
    return value ? JS_NewString(c, value) : JS_UNDEFINED;
}

static JSValue js_map(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_NewStringLen(c, map, map_size);
}

static JSValue js_importing(JSContext *c, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_NewBool(c, importing);
}

static const JSCFunctionListEntry host_functions[] = {
    JS_CFUNC_DEF("ask", 1, js_ask),         JS_CFUNC_DEF("read", 2, js_read),
    JS_CFUNC_DEF("write", 2, js_write),     JS_CFUNC_DEF("close", 1, js_close),
    JS_CFUNC_DEF("random", 1, js_random),   JS_CFUNC_DEF("mathRandom", 0, js_math_random),
    JS_CFUNC_DEF("sleep", 1, js_sleep),     JS_CFUNC_DEF("log", 1, js_log),
    JS_CFUNC_DEF("encode", 1, js_encode),   JS_CFUNC_DEF("decode", 4, js_decode),
    JS_CFUNC_DEF("map", 0, js_map),         JS_CFUNC_DEF("importing", 0, js_importing),
    JS_CFUNC_DEF("env", 1, js_env),
};

static int interrupted(JSRuntime *rt, void *opaque) { return importing && ++steps > IMPORT_STEPS; }

static void on_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque)
{
    JSValueConst args[] = {promise, reason, JS_NewBool(c, handled)};
    if (JS_IsFunction(c, reject))
        JS_FreeValue(c, JS_Call(c, reject, JS_UNDEFINED, 3, args));
}

static void run_jobs(void)
{
    JSContext *c;
    while (JS_ExecutePendingJob(JS_GetRuntime(ctx), &c) > 0)
        ;
}

// Makes a response of the pending exception, or of a value; the host says it when it describes the script.
static void fail(JSValue error)
{
    steps = 0;
    failure = NULL;
    JS_ResetUncatchableError(ctx);
    JSValue v = JS_Call(ctx, describe, JS_UNDEFINED, 1, (JSValueConst *)&error);
    if (!JS_IsException(v)) {
        size_t size;
        failure = text_of(v, &size);
    }
    if (!failure)
        failure = "{\"error\":{\"code\":-32603,\"message\":\"the script failed, and its error has no text\"}}";
}

static JSValue member(JSValueConst object, const char *name) { return JS_GetPropertyStr(ctx, object, name); }

static void load_library(const char *text, size_t size)
{
    JSValue make = JS_Eval(ctx, text, size, "sallyport:runtime", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT);
    JSValue host = JS_NewObject(ctx);
    JS_SetPropertyFunctionList(ctx, host, host_functions, sizeof host_functions / sizeof *host_functions);
    JSValue library = JS_Call(ctx, make, JS_UNDEFINED, 1, (JSValueConst *)&host);
    if (JS_IsException(library)) {
        size_t n;
        JSValue e = JS_GetException(ctx);
        const char *s = text_of(e, &n);
        write(2, s, n);
        write(2, "\n", 1);
        abort();
    }
    begin = member(library, "begin"), step = member(library, "step"), take = member(library, "take");
    describe = member(library, "describe"), reject = member(library, "reject");
}

// Evaluates the script, and waits for its top-level await.
static void load_script(const char *text, size_t size)
{
    JSValue done = JS_Eval(ctx, text, size, "script", JS_EVAL_TYPE_MODULE);
    if (JS_IsException(done)) {
        fail(JS_GetException(ctx));
        return;
    }
    run_jobs();
    while (JS_PromiseState(ctx, done) == JS_PROMISE_PENDING) {
        JSValue more = JS_Call(ctx, step, JS_UNDEFINED, 0, NULL);
        if (JS_IsException(more)) {
            fail(JS_GetException(ctx));
            return;
        }
        run_jobs();
        if (JS_HasException(ctx)) {
            fail(JS_GetException(ctx));
            return;
        }
        if (!JS_ToBool(ctx, more))
            break;
    }
    switch (JS_PromiseState(ctx, done)) {
    case JS_PROMISE_REJECTED:
        fail(JS_PromiseResult(ctx, done));
        return;
    case JS_PROMISE_PENDING:
        fail(JS_UNDEFINED);
    default:;
    }
}

static void initialize(void) __attribute__((constructor));

static void initialize(void)
{
    struct blob *b = (struct blob *)BLOB_AT;
    if (b->magic != BLOB_MAGIC)
        abort(); // the engine without a script
    struct blob head = *b;
    uint32_t size = head.library + head.script + 2;
    char *texts = malloc(size);
    memcpy(texts, b + 1, size);
    map_size = head.map;
    map = malloc(map_size + 1);
    memcpy(map, (char *)(b + 1) + size, map_size);
    memset(b, 0, sizeof *b + size + map_size);

    importing = 1;
    JSRuntime *rt = JS_NewRuntime();
    JS_SetMaxStackSize(rt, STACK);
    JS_SetGCThreshold(rt, GC_AT);
    JS_SetInterruptHandler(rt, interrupted, NULL);
    ctx = JS_NewContext(rt);
    begin = step = take = reject = describe = JS_UNDEFINED;
    JS_SetHostPromiseRejectionTracker(rt, on_rejection, NULL);
    load_library(texts, head.library);
    load_script(texts + head.library + 1, head.script);
    free(texts);
    importing = seeded = 0;
    JS_RunGC(rt);
    JS_SetGCThreshold(rt, GC_AT);
}

static int32_t respond(const char *p, size_t size)
{
    sp_write(1, p, size);
    return 0;
}

// Writes the texts of a response, one after the other; 0 if they cannot be had.
static int respond_with(JSValueConst texts)
{
    char *s[MOST_TEXTS];
    size_t size[MOST_TEXTS];
    int64_t count;
    if (JS_GetLength(ctx, texts, &count) || count > MOST_TEXTS)
        return 0;
    for (int i = 0; i < count; i++) {
        JSValue text = JS_GetPropertyUint32(ctx, texts, i);
        s[i] = JS_IsString(text) ? text_of(text, &size[i]) : NULL;
        JS_FreeValue(ctx, text);
        if (!s[i])
            return 0;
    }
    for (int i = 0; i < count; i++) {
        sp_write(1, s[i], size[i]);
        JS_FreeCString(ctx, s[i]);
    }
    return 1;
}

static const char exhausted[] =
    "{\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"the script ran out of memory, or has broken built-in functions that its result needs\"}]}}";

EXPORT("mcp_handle") int32_t mcp_handle(int32_t size)
{
    if (failure)
        return respond(failure, strlen(failure));
    JS_UpdateStackTop(JS_GetRuntime(ctx));
    char *request = malloc(size + 1);
    int32_t have = 0;
    while (request && have < size) {
        int32_t n = sp_read(0, request + have, size - have);
        if (n <= 0)
            break;
        have += n;
    }
    if (!request)
        return respond(exhausted, sizeof exhausted - 1);
    request[have] = 0;
    JSValue call = parse(request, have);
    free(request);
    JSValue more = JS_IsException(call) ? JS_EXCEPTION : JS_Call(ctx, begin, JS_UNDEFINED, 1, (JSValueConst *)&call);
    JS_FreeValue(ctx, call);
    while (!JS_IsException(more)) {
        run_jobs();
        more = JS_Call(ctx, step, JS_UNDEFINED, 0, NULL);
        if (!JS_IsException(more) && !JS_ToBool(ctx, more))
            break;
    }
    JSValue response = JS_IsException(more) ? JS_EXCEPTION : JS_Call(ctx, take, JS_UNDEFINED, 0, NULL);
    if (JS_IsException(response) || !respond_with(response)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        respond(exhausted, sizeof exhausted - 1);
    }
    JS_FreeValue(ctx, response);
    return 0;
}
