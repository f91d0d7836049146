// The Python engine of scripts: MicroPython as a plugin of the native ABI. The host writes a blob to the memory of the
// module, as a data segment: the library of scripts and the sources of the script. _initialize imports both before the
// image is taken, and mcp_handle passes each request to the library.
//
// This file is only what Python cannot do by itself: the four imports of the ABI, files of the blob, random numbers,
// clocks. json.c reads and writes JSON, and the library has everything else.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "py/bc.h"
#include "py/builtin.h"
#include "py/compile.h"
#include "py/cstack.h"
#include "py/gc.h"
#include "py/lexer.h"
#include "py/mphal.h"
#include "py/objfun.h"
#include "py/objmodule.h"
#include "py/objstr.h"
#include "py/runtime.h"
#include "unwind.h"

#define IMPORT(name) __attribute__((import_module("sallyport"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("read") int32_t sp_read(int32_t stream, void *p, int32_t size);
IMPORT("write") int32_t sp_write(int32_t stream, const void *p, int32_t size);
IMPORT("call") int64_t sp_call(const void *p, int32_t size);
IMPORT("close") int32_t sp_close(int32_t stream);

// The blob lies above everything that is allocated before it is copied. Package script has the same numbers.
#define BLOB_AT (4u << 20)
#define BLOB_MAGIC 0x31505053u // "SPP1"

// The stack of C that Python may use; the linker reserves 1 MiB.
#define STACK (448 << 10)
// The heap at the start; it grows by itself.
#define HEAP (1 << 20)
// Memory in use, in bytes, from which on a full heap is collected before it grows.
#define COLLECT_AT (24u << 20)
// The steps of an import: loops and calls.
#define IMPORT_STEPS 20000000

struct file { const char *path, *text; uint32_t path_size, text_size; };

static struct file *files;
static uint32_t file_count;
static char *failure; // why the script cannot serve, as a response
static size_t failure_size;
int sp_importing;
static int steps;
static nlr_buf_t *outermost;
static mp_obj_t handle;
static uint64_t seed[2];
static int seeded;
size_t sp_error_column; // of the latest syntax error, from 1

// Raised past every handler of the script, so that no loop survives it.
void sp_step(void)
{
    if (++steps <= IMPORT_STEPS || !outermost)
        return;
    MP_STATE_THREAD(nlr_top) = outermost;
    mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("the script still runs after 20,000,000 steps of its import: is there a loop without end?"));
}

// The collector scans the stack of C: the build makes the compiler keep pointers there during calls. A small heap grows
// first: most calls end before it is full, and their memory with them.
void gc_collect(void)
{
    if (!sp_importing && __builtin_wasm_memory_size(0) < COLLECT_AT >> 16)
        return;
    gc_collect_start();
    uintptr_t here = (uintptr_t)sp_stack_pointer() & ~(uintptr_t)3, top = (uintptr_t)MP_STATE_THREAD(stack_top);
    gc_collect_root((void **)here, (top - here) / sizeof(void *));
    gc_collect_end();
}

// A new part of the heap: as much as there is already, and memory.grow tells whether it can be had.
size_t gc_get_max_new_split(void) { return 8 << 20; }

void nlr_jump_fail(void *val) { abort(); }

static void put(void *env, const char *s, size_t n) { write(2, s, n); }
const mp_print_t sp_stderr = {NULL, put};
mp_uint_t mp_hal_stdout_tx_strn(const char *s, size_t n) { return write(2, s, n); }
void mp_hal_stdout_tx_strn_cooked(const char *s, size_t n) { write(2, s, n); }

// Files: those of the blob, and no others.
static struct file *find(const char *path, size_t size)
{
    for (uint32_t i = 0; i < file_count; i++)
        if (files[i].path_size == size && !memcmp(files[i].path, path, size))
            return &files[i];
    return NULL;
}

mp_import_stat_t mp_import_stat(const char *path)
{
    size_t n = strlen(path);
    if (find(path, n))
        return MP_IMPORT_STAT_FILE;
    for (uint32_t i = 0; i < file_count; i++)
        if (files[i].path_size > n && !memcmp(files[i].path, path, n) && files[i].path[n] == '/')
            return MP_IMPORT_STAT_DIR;
    return MP_IMPORT_STAT_NO_EXIST;
}

mp_lexer_t *mp_lexer_new_from_file(qstr name)
{
    struct file *f = find(qstr_str(name), qstr_len(name));
    if (!f)
        mp_raise_OSError(ENOENT);
    return mp_lexer_new_from_str_len(name, f->text, f->text_size, 0);
}

mp_obj_t mp_builtin_open(size_t n_args, const mp_obj_t *args, mp_map_t *kwargs)
{
    mp_raise_msg(&mp_type_OSError, MP_ERROR_TEXT("a script opens no files"));
}
MP_DEFINE_CONST_FUN_OBJ_KW(mp_builtin_open_obj, 0, mp_builtin_open);

// Functions of the module _host.

static mp_obj_t text_of(const char *s, size_t n) { return mp_obj_new_str(s, n); }

// ask(request): str. A failure of the import itself is raised.
static mp_obj_t host_ask(mp_obj_t request)
{
    size_t size;
    const char *p = mp_obj_str_get_data(request, &size);
    int64_t r = sp_call(p, size);
    if (r == -ENOSYS)
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("the host can only be asked during a call, not while the script is imported"));
    if (r < 0)
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("the host refused the request with error %d"), (int)-r);
    int32_t stream = r >> 32;
    uint32_t length = (uint32_t)r, have = 0;
    vstr_t v;
    vstr_init_len(&v, length);
    while (have < length) {
        int32_t n = sp_read(stream, v.buf + have, length - have);
        if (n <= 0)
            break;
        have += n;
    }
    sp_close(stream);
    v.len = have;
    return mp_obj_new_str_from_utf8_vstr(&v);
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_ask_obj, host_ask);

// read(stream, max): bytes, empty at the end.
static mp_obj_t host_read(mp_obj_t stream, mp_obj_t max)
{
    vstr_t v;
    vstr_init_len(&v, mp_obj_get_int(max));
    int32_t n = sp_read(mp_obj_get_int(stream), v.buf, v.len);
    if (n < 0)
        mp_raise_OSError(-n);
    v.len = n;
    return mp_obj_new_bytes_from_vstr(&v);
}
static MP_DEFINE_CONST_FUN_OBJ_2(host_read_obj, host_read);

// write(stream, bytes): int, below 0 for an error.
static mp_obj_t host_write(mp_obj_t stream, mp_obj_t data)
{
    mp_buffer_info_t b;
    mp_get_buffer_raise(data, &b, MP_BUFFER_READ);
    return mp_obj_new_int(b.len ? sp_write(mp_obj_get_int(stream), b.buf, b.len) : 0);
}
static MP_DEFINE_CONST_FUN_OBJ_2(host_write_obj, host_write);

static mp_obj_t host_close(mp_obj_t stream) { return mp_obj_new_int(sp_close(mp_obj_get_int(stream))); }
static MP_DEFINE_CONST_FUN_OBJ_1(host_close_obj, host_close);

// random(size): bytes
static mp_obj_t host_random(mp_obj_t size)
{
    int n = mp_obj_get_int(size);
    vstr_t v;
    vstr_init_len(&v, n < 0 ? 0 : n);
    for (size_t i = 0; i < v.len; i += 256)
        if (getentropy(v.buf + i, v.len - i < 256 ? v.len - i : 256))
            mp_raise_msg(&mp_type_OSError, MP_ERROR_TEXT("no random numbers"));
    return mp_obj_new_bytes_from_vstr(&v);
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_random_obj, host_random);

// The generator of the module random, xoroshiro128+, is seeded by the host for each call.
EXPORT("sallyport_reseed") void sallyport_reseed(uint64_t low, uint64_t high)
{
    seed[0] = low, seed[1] = high | !(low | high);
    seeded = 1;
}

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static uint64_t next_random(void)
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
    return sum;
}

// uniform(): float in [0, 1)
static mp_obj_t host_uniform(void) { return mp_obj_new_float((double)(next_random() >> 11) * 0x1p-53); }
static MP_DEFINE_CONST_FUN_OBJ_0(host_uniform_obj, host_uniform);

// bits(n): int of n random bits, n at most 30
static mp_obj_t host_bits(mp_obj_t n) { return mp_obj_new_int(next_random() >> (64 - mp_obj_get_int(n))); }
static MP_DEFINE_CONST_FUN_OBJ_1(host_bits_obj, host_bits);

// seed(bytes): takes the first 16
static mp_obj_t host_seed(mp_obj_t data)
{
    mp_buffer_info_t b;
    uint64_t given[2] = {0};
    mp_get_buffer_raise(data, &b, MP_BUFFER_READ);
    memcpy(given, b.buf, b.len < sizeof given ? b.len : sizeof given);
    sallyport_reseed(given[0], given[1]);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_seed_obj, host_seed);

static mp_obj_t clock_of(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return mp_obj_new_int_from_ll((long long)t.tv_sec * 1000000000 + t.tv_nsec);
}

// now(): int, nanoseconds since 1970
static mp_obj_t host_now(void) { return clock_of(CLOCK_REALTIME); }
static MP_DEFINE_CONST_FUN_OBJ_0(host_now_obj, host_now);

static mp_obj_t host_monotonic(void) { return clock_of(CLOCK_MONOTONIC); }
static MP_DEFINE_CONST_FUN_OBJ_0(host_monotonic_obj, host_monotonic);

// sleep(seconds)
static mp_obj_t host_sleep(mp_obj_t seconds)
{
    double s = mp_obj_get_float(seconds);
    if (s > 0 && !sp_importing) {
        struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
        nanosleep(&t, NULL);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_sleep_obj, host_sleep);

// log(text) writes to standard error, which is the host's log.
static mp_obj_t host_log(mp_obj_t text)
{
    size_t n;
    const char *s = mp_obj_str_get_data(text, &n);
    write(2, s, n);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_log_obj, host_log);

// env(name): str or None, of the operator's config grants
static mp_obj_t host_env(mp_obj_t name)
{
    const char *v = getenv(mp_obj_str_get_str(name));
    return v ? text_of(v, strlen(v)) : mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_env_obj, host_env);

static mp_obj_t host_importing(void) { return mp_obj_new_bool(sp_importing); }
static MP_DEFINE_CONST_FUN_OBJ_0(host_importing_obj, host_importing);

// source(path): str or None
static mp_obj_t host_source(mp_obj_t path)
{
    size_t n;
    const char *p = mp_obj_str_get_data(path, &n);
    struct file *f = find(p, n);
    return f ? text_of(f->text, f->text_size) : mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_source_obj, host_source);

static mp_obj_t host_column(void) { return mp_obj_new_int(sp_error_column); }
static MP_DEFINE_CONST_FUN_OBJ_0(host_column_obj, host_column);

// trace(exception): list of (path, line, name), outermost first
static mp_obj_t host_trace(mp_obj_t exception)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    size_t n, *values;
    if (!mp_obj_is_exception_instance(exception))
        return list;
    mp_obj_exception_get_traceback(exception, &n, &values);
    for (size_t at = n; at >= 3; at -= 3) {
        mp_obj_t name = values[at - 1] == MP_QSTRnull ? mp_const_none : MP_OBJ_NEW_QSTR(values[at - 1]);
        mp_obj_t frame[] = {MP_OBJ_NEW_QSTR(values[at - 3]), MP_OBJ_NEW_SMALL_INT(values[at - 2]), name};
        mp_obj_list_append(list, mp_obj_new_tuple(3, frame));
    }
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_trace_obj, host_trace);

extern const mp_obj_type_t mp_type_closure;

// place(function): (path, line of its first statement, name)
static mp_obj_t host_place(mp_obj_t f)
{
    if (mp_obj_is_type(f, &mp_type_closure))
        f = ((struct { mp_obj_base_t base; mp_obj_t fun; } *)MP_OBJ_TO_PTR(f))->fun;
    if (!mp_obj_is_type(f, &mp_type_fun_bc) && !mp_obj_is_type(f, &mp_type_gen_wrap))
        mp_raise_TypeError(MP_ERROR_TEXT("only a function of Python can be used here"));
    mp_obj_fun_bc_t *fun = MP_OBJ_TO_PTR(f);
    const byte *ip = fun->bytecode;
    MP_BC_PRELUDE_SIG_DECODE(ip);
    MP_BC_PRELUDE_SIZE_DECODE(ip);
    const byte *top = ip + n_info;
    qstr name = mp_decode_uint_value(ip);
    for (size_t i = 0; i < 1 + n_pos_args + n_kwonly_args; i++)
        ip = mp_decode_uint_skip(ip);
    mp_obj_t all[] = {
        MP_OBJ_NEW_QSTR(fun->context->constants.source_file),
        mp_obj_new_int(mp_bytecode_get_source_line(ip, top, 0)),
        MP_OBJ_NEW_QSTR(name),
    };
    return mp_obj_new_tuple(3, all);
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_place_obj, host_place);

// globals(function): the dict of its module
static mp_obj_t host_globals_of(mp_obj_t f)
{
    if (mp_obj_is_type(f, &mp_type_closure))
        f = ((struct { mp_obj_base_t base; mp_obj_t fun; } *)MP_OBJ_TO_PTR(f))->fun;
    mp_obj_fun_bc_t *fun = MP_OBJ_TO_PTR(f);
    return MP_OBJ_FROM_PTR(fun->context->module.globals);
}
static MP_DEFINE_CONST_FUN_OBJ_1(host_globals_obj, host_globals_of);

// run(path, globals) executes a file of the blob.
static mp_obj_t host_run(mp_obj_t path, mp_obj_t globals)
{
    qstr name = mp_obj_str_get_qstr(path);
    return mp_parse_compile_execute(mp_lexer_new_from_file(name), MP_PARSE_FILE_INPUT, MP_OBJ_TO_PTR(globals), MP_OBJ_TO_PTR(globals));
}
static MP_DEFINE_CONST_FUN_OBJ_2(host_run_obj, host_run);

// module(name): a new module of this name, which import finds
static mp_obj_t host_new_module(mp_obj_t name) { return mp_obj_new_module(mp_obj_str_get_qstr(name)); }
static MP_DEFINE_CONST_FUN_OBJ_1(host_module_obj, host_new_module);

static const mp_rom_map_elem_t host_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__host)},
    {MP_ROM_QSTR(MP_QSTR_ask), MP_ROM_PTR(&host_ask_obj)},
    {MP_ROM_QSTR(MP_QSTR_read), MP_ROM_PTR(&host_read_obj)},
    {MP_ROM_QSTR(MP_QSTR_write), MP_ROM_PTR(&host_write_obj)},
    {MP_ROM_QSTR(MP_QSTR_close), MP_ROM_PTR(&host_close_obj)},
    {MP_ROM_QSTR(MP_QSTR_random), MP_ROM_PTR(&host_random_obj)},
    {MP_ROM_QSTR(MP_QSTR_uniform), MP_ROM_PTR(&host_uniform_obj)},
    {MP_ROM_QSTR(MP_QSTR_bits), MP_ROM_PTR(&host_bits_obj)},
    {MP_ROM_QSTR(MP_QSTR_seed), MP_ROM_PTR(&host_seed_obj)},
    {MP_ROM_QSTR(MP_QSTR_now), MP_ROM_PTR(&host_now_obj)},
    {MP_ROM_QSTR(MP_QSTR_monotonic), MP_ROM_PTR(&host_monotonic_obj)},
    {MP_ROM_QSTR(MP_QSTR_sleep), MP_ROM_PTR(&host_sleep_obj)},
    {MP_ROM_QSTR(MP_QSTR_log), MP_ROM_PTR(&host_log_obj)},
    {MP_ROM_QSTR(MP_QSTR_env), MP_ROM_PTR(&host_env_obj)},
    {MP_ROM_QSTR(MP_QSTR_importing), MP_ROM_PTR(&host_importing_obj)},
    {MP_ROM_QSTR(MP_QSTR_source), MP_ROM_PTR(&host_source_obj)},
    {MP_ROM_QSTR(MP_QSTR_column), MP_ROM_PTR(&host_column_obj)},
    {MP_ROM_QSTR(MP_QSTR_trace), MP_ROM_PTR(&host_trace_obj)},
    {MP_ROM_QSTR(MP_QSTR_place), MP_ROM_PTR(&host_place_obj)},
    {MP_ROM_QSTR(MP_QSTR_globals), MP_ROM_PTR(&host_globals_obj)},
    {MP_ROM_QSTR(MP_QSTR_run), MP_ROM_PTR(&host_run_obj)},
    {MP_ROM_QSTR(MP_QSTR_module), MP_ROM_PTR(&host_module_obj)},
};
static MP_DEFINE_CONST_DICT(host_dict, host_table);
const mp_obj_module_t host_module = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&host_dict};
MP_REGISTER_MODULE(MP_QSTR__host, host_module);

// The start.

// Copies the files of the blob to the heap of C. The entry is the first of them.
static void unpack(void)
{
    uint32_t *head = (uint32_t *)BLOB_AT;
    if (head[0] != BLOB_MAGIC)
        abort(); // the engine without a script
    file_count = head[1];
    uint32_t size = head[2]; // of sizes and texts
    char *copy = malloc(size);
    files = malloc(file_count * sizeof *files);
    if (!copy || !files)
        abort();
    memcpy(copy, head + 3, size);
    memset(head, 0, 12 + size);
    uint32_t *sizes = (uint32_t *)copy;
    const char *text = copy + 8 * file_count;
    for (uint32_t i = 0; i < file_count; i++) {
        files[i] = (struct file){text, text + sizes[2 * i] + 1, sizes[2 * i], sizes[2 * i + 1]};
        text += files[i].path_size + files[i].text_size + 2; // each ends in a NUL
    }
}

static mp_obj_t library(qstr name)
{
    return mp_load_attr(mp_import_name(MP_QSTR__main, mp_const_none, MP_OBJ_NEW_SMALL_INT(0)), name);
}

// Keeps the response of a script that cannot serve.
static void fail(mp_obj_t error)
{
    nlr_buf_t nlr;
    steps = 0;
    failure = "{\"error\":{\"code\":-32603,\"message\":\"the script failed, and its error has no text\"}}";
    failure_size = strlen(failure);
    outermost = &nlr;
    if (nlr_push(&nlr) == 0) {
        const char *s = mp_obj_str_get_data(mp_call_function_1(library(MP_QSTR_describe), error), &failure_size);
        failure = malloc(failure_size);
        memcpy(failure, s, failure_size);
        nlr_pop();
    }
    outermost = NULL;
}

// Imports the script, as a module of the name of its file.
static void import_script(void)
{
    nlr_buf_t nlr;
    outermost = &nlr;
    if (nlr_push(&nlr) == 0) {
        mp_obj_t f = library(MP_QSTR_load);
        mp_call_function_1(f, text_of(files[0].path, files[0].path_size));
        nlr_pop();
        outermost = NULL;
        return;
    }
    outermost = NULL;
    fail(MP_OBJ_FROM_PTR(nlr.ret_val));
}

static void prepare(void)
{
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        mp_obj_list_append(mp_sys_path, MP_OBJ_NEW_QSTR(qstr_from_str("sallyport:")));
        handle = library(MP_QSTR_handle);
        nlr_pop();
        return;
    }
    mp_obj_print_exception(&sp_stderr, MP_OBJ_FROM_PTR(nlr.ret_val));
    abort();
}

MP_REGISTER_ROOT_POINTER(void *sp_handle);

static void initialize(void) __attribute__((constructor));

static void initialize(void)
{
    unpack();
    mp_cstack_init_with_top(sp_stack_pointer(), STACK);
    void *heap = malloc(HEAP);
    gc_init(heap, (char *)heap + HEAP);
    mp_init();
    prepare();
    MP_STATE_VM(sp_handle) = MP_OBJ_TO_PTR(handle);
    sp_importing = 1;
    import_script();
    gc_collect();
    sp_importing = seeded = 0;
}

static int32_t respond(const char *p, size_t size)
{
    sp_write(1, p, size);
    return 0;
}

static const char exhausted[] =
    "{\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"the script ran out of memory or of stack, or has broken built-in names that its result needs\"}]}}";

static mp_obj_t request_of(int32_t size)
{
    vstr_t v;
    vstr_init_len(&v, size);
    int32_t have = 0;
    while (have < size) {
        int32_t n = sp_read(0, v.buf + have, size - have);
        if (n <= 0)
            break;
        have += n;
    }
    v.len = have;
    return mp_obj_new_bytes_from_vstr(&v);
}

EXPORT("mcp_handle") int32_t mcp_handle(int32_t size)
{
    if (failure)
        return respond(failure, failure_size);
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        size_t n;
        const char *s = mp_obj_str_get_data(mp_call_function_1(handle, request_of(size)), &n);
        nlr_pop();
        return respond(s, n);
    }
    mp_obj_print_exception(&sp_stderr, MP_OBJ_FROM_PTR(nlr.ret_val));
    return respond(exhausted, sizeof exhausted - 1);
}
