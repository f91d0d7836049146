// The module _json: JSON as RFC 8259 and CPython's json have it. Texts are UTF-8 without surrogates on both sides.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py/cstack.h"
#include "py/objint.h"
#include "py/objlist.h"
#include "py/objstr.h"
#include "py/objtuple.h"
#include "py/parsenum.h"
#include "py/runtime.h"
#include "py/unicode.h"

// The shortest text that reads back as the same number, as repr of CPython writes it. buf has 32 bytes.
size_t sp_format_double(double v, char *buf)
{
    if (isnan(v))
        return strlen(strcpy(buf, "nan"));
    if (isinf(v))
        return strlen(strcpy(buf, v < 0 ? "-inf" : "inf"));
    char digits[32];
    for (int precision = fabs(v) < 0x1p-1022 ? 1 : 15; precision <= 17; precision++) { // subnormal numbers have fewer
        snprintf(digits, sizeof digits, "%.*e", precision - 1, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    char *e = strchr(digits, 'e'), *p = digits, *out = buf;
    int exponent = atoi(e + 1);
    if (*p == '-')
        *out++ = *p++;
    char d[20];
    int n = 0;
    for (; p < e; p++)
        if (*p != '.')
            d[n++] = *p;
    while (n > 1 && d[n - 1] == '0')
        n--;
    if (exponent < -4 || exponent >= 16) {
        *out++ = d[0];
        if (n > 1)
            *out++ = '.';
        memcpy(out, d + 1, n - 1);
        out += n - 1;
        out += sprintf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return out - buf;
    }
    if (exponent < 0) {
        *out++ = '0', *out++ = '.';
        for (int i = -1; i > exponent; i--)
            *out++ = '0';
        memcpy(out, d, n);
        out += n;
    } else {
        for (int i = 0; i < n || i <= exponent; i++) {
            if (i == exponent + 1)
                *out++ = '.';
            *out++ = i < n ? d[i] : '0';
        }
        if (n <= exponent + 1)
            *out++ = '.', *out++ = '0';
    }
    *out = 0;
    return out - buf;
}

// The number between two places, which has digits, underscores, a point and an exponent, correctly rounded.
double sp_parse_double(const char *begin, const char *end, double otherwise)
{
    char copy[512];
    size_t n = 0;
    if (begin == end || !strchr("0123456789.", *begin) || end - begin >= (long)sizeof copy)
        return otherwise;
    for (const char *p = begin; p < end; p++)
        if (*p != '_')
            copy[n++] = *p;
    copy[n] = 0;
    return strtod(copy, NULL);
}

// Reading.

struct in { const char *begin, *p, *end; };

static NORETURN void fail(struct in *in, const char *at, const char *why)
{
    mp_obj_t args[] = {mp_obj_new_str(why, strlen(why)), mp_obj_new_int(utf8_charlen((const byte *)in->begin, at - in->begin))};
    nlr_raise(mp_obj_new_exception_args(&mp_type_ValueError, 2, args));
}

static void blank(struct in *in)
{
    while (in->p < in->end && (*in->p == ' ' || *in->p == '\n' || *in->p == '\r' || *in->p == '\t'))
        in->p++;
}

static int hex4(struct in *in, const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p + i < in->end ? p[i] : 0;
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

// The code point of an escape whose \u has been read; a lone surrogate is U+FFFD.
static unsigned escape(struct in *in)
{
    int v = hex4(in, in->p), low;
    if (v < 0)
        fail(in, in->p - 1, "Invalid \\uXXXX escape");
    in->p += 4;
    if (v < 0xd800 || v > 0xdfff)
        return v;
    if (v < 0xdc00 && in->end - in->p >= 6 && in->p[0] == '\\' && in->p[1] == 'u') {
        low = hex4(in, in->p + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            in->p += 6;
            return 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return 0xfffd;
}

static mp_obj_t read_string(struct in *in)
{
    const char *begin = in->p++, *run = in->p;
    while (in->p < in->end && *in->p != '"' && *in->p != '\\' && (unsigned char)*in->p >= 0x20)
        in->p++;
    if (in->p < in->end && *in->p == '"')
        return mp_obj_new_str(run, in->p++ - run);
    vstr_t v;
    vstr_init(&v, 32 + (in->p - run));
    for (;;) {
        vstr_add_strn(&v, run, in->p - run);
        if (in->p >= in->end)
            fail(in, begin, "Unterminated string starting at");
        unsigned char c = *in->p++;
        if (c == '"')
            break;
        if (c != '\\')
            fail(in, in->p - 1, "Invalid control character at");
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        c = in->p < in->end ? *in->p++ : 0;
        const char *known = c ? strchr(from, c) : NULL;
        if (known)
            vstr_add_byte(&v, to[known - from]);
        else if (c == 'u')
            vstr_add_char(&v, escape(in));
        else if (c)
            fail(in, in->p - 2, "Invalid \\escape");
        else
            fail(in, begin, "Unterminated string starting at");
        run = in->p;
        while (in->p < in->end && *in->p != '"' && *in->p != '\\' && (unsigned char)*in->p >= 0x20)
            in->p++;
    }
    return mp_obj_new_str_from_vstr(&v);
}

static void digits(struct in *in)
{
    while (in->p < in->end && *in->p >= '0' && *in->p <= '9')
        in->p++;
}

static mp_obj_t read_number(struct in *in)
{
    const char *begin = in->p;
    if (*in->p == '-')
        in->p++;
    const char *first = in->p;
    if (in->p < in->end && *in->p == '0')
        in->p++;
    else
        digits(in);
    if (in->p == first)
        fail(in, begin, "Expecting value");
    const char *whole = in->p;
    if (in->end - in->p >= 2 && *in->p == '.' && in->p[1] >= '0' && in->p[1] <= '9') {
        in->p++;
        digits(in);
    }
    if (in->end - in->p >= 2 && (*in->p | 32) == 'e') {
        const char *e = in->p + 1;
        if (*e == '+' || *e == '-')
            e++;
        if (e < in->end && *e >= '0' && *e <= '9') {
            in->p = e;
            digits(in);
        }
    }
    if (in->p == whole)
        return mp_parse_num_integer(begin, whole - begin, 10, NULL);
    char copy[64], *text = copy;
    size_t n = in->p - begin;
    if (n >= sizeof copy)
        text = m_new(char, n + 1);
    memcpy(text, begin, n);
    text[n] = 0;
    return mp_obj_new_float(strtod(text, NULL));
}

static mp_obj_t read_value(struct in *in);

static mp_obj_t read_list(struct in *in)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    in->p++;
    blank(in);
    if (in->p < in->end && *in->p == ']') {
        in->p++;
        return list;
    }
    for (;;) {
        mp_obj_list_append(list, read_value(in));
        blank(in);
        char c = in->p < in->end ? *in->p : 0;
        if (c != ',' && c != ']')
            fail(in, in->p, "Expecting ',' delimiter");
        in->p++;
        if (c == ']')
            return list;
    }
}

static mp_obj_t read_object(struct in *in)
{
    mp_obj_t dict = mp_obj_new_dict(0);
    in->p++;
    blank(in);
    if (in->p < in->end && *in->p == '}') {
        in->p++;
        return dict;
    }
    for (;;) {
        blank(in);
        if (in->p >= in->end || *in->p != '"')
            fail(in, in->p, "Expecting property name enclosed in double quotes");
        mp_obj_t key = read_string(in);
        blank(in);
        if (in->p >= in->end || *in->p != ':')
            fail(in, in->p, "Expecting ':' delimiter");
        in->p++;
        mp_obj_dict_store(dict, key, read_value(in));
        blank(in);
        char c = in->p < in->end ? *in->p : 0;
        if (c != ',' && c != '}')
            fail(in, in->p, "Expecting ',' delimiter");
        in->p++;
        if (c == '}')
            return dict;
    }
}

static mp_obj_t read_value(struct in *in)
{
    static const struct { const char *name; mp_obj_t value; } words[] = {
        {"null", mp_const_none}, {"true", mp_const_true}, {"false", mp_const_false},
    };
    mp_cstack_check();
    blank(in);
    switch (in->p < in->end ? *in->p : 0) {
    case '{': return read_object(in);
    case '[': return read_list(in);
    case '"': return read_string(in);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': return read_number(in);
    }
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i].name);
        if ((size_t)(in->end - in->p) >= n && !memcmp(in->p, words[i].name, n)) {
            in->p += n;
            return words[i].value;
        }
    }
    fail(in, in->p, "Expecting value");
}

// loads(str or bytes): ValueError has a message and a position
static mp_obj_t json_loads(mp_obj_t text)
{
    mp_buffer_info_t b;
    mp_get_buffer_raise(text, &b, MP_BUFFER_READ);
    struct in in = {b.buf, b.buf, (char *)b.buf + b.len};
    mp_obj_t v = read_value(&in);
    blank(&in);
    if (in.p < in.end)
        fail(&in, in.p, "Extra data");
    return v;
}
static MP_DEFINE_CONST_FUN_OBJ_1(json_loads_obj, json_loads);

// Writing.

struct above { struct above *up; mp_obj_t value, key; }; // the containers around a value

struct out {
    vstr_t v;
    const char *comma, *colon;
    size_t comma_size, colon_size;
    int ascii, sort, nan, indent; // indent below 0: one line
    mp_obj_t convert;             // default=, or MP_OBJ_NULL
};

// The place of a value: "a.b[1]".
static void add_path(vstr_t *v, struct above *a)
{
    if (!a)
        return;
    add_path(v, a->up);
    if (a->key == MP_OBJ_NULL)
        return;
    if (mp_obj_is_small_int(a->key) && !mp_obj_is_dict_or_ordereddict(a->value)) {
        vstr_printf(v, "[%d]", (int)MP_OBJ_SMALL_INT_VALUE(a->key));
        return;
    }
    mp_print_t print = {v, (mp_print_strn_t)vstr_add_strn};
    if (v->len)
        vstr_add_byte(v, '.');
    mp_obj_print_helper(&print, a->key, PRINT_STR);
}

static NORETURN void misfit(const mp_obj_type_t *type, struct above *a, const char *format, const char *name)
{
    vstr_t path, v;
    vstr_init(&path, 32);
    add_path(&path, a);
    vstr_init(&v, 64);
    vstr_printf(&v, format, name);
    if (path.len) {
        vstr_add_str(&v, ", at ");
        vstr_add_strn(&v, path.buf, path.len);
    }
    mp_obj_t text = mp_obj_new_str_from_vstr(&v);
    nlr_raise(mp_obj_new_exception_args(type, 1, &text));
}

static void write_escape(struct out *o, unsigned c)
{
    if (c >= 0x10000) {
        vstr_printf(&o->v, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
        return;
    }
    vstr_printf(&o->v, "\\u%04x", c);
}

static void write_string(struct out *o, const char *s, size_t n)
{
    const char *p = s, *end = s + n, *run = s;
    vstr_add_byte(&o->v, '"');
    while (p < end) {
        unsigned char c = *p;
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            p++;
            continue;
        }
        if (c >= 0x80 && !o->ascii && !(c == 0xed && p + 2 < end && (unsigned char)p[1] >= 0xa0)) {
            p++;
            continue;
        }
        vstr_add_strn(&o->v, run, p - run);
        if (c >= 0x80) {
            const byte *next = utf8_next_char((const byte *)p);
            unsigned point = utf8_get_char((const byte *)p);
            if (point >= 0xd800 && point <= 0xdfff)
                point = 0xfffd;
            if (o->ascii)
                write_escape(o, point);
            else
                vstr_add_char(&o->v, point);
            p = (const char *)next;
        } else {
            static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
            const char *known = c ? strchr(from, c) : NULL;
            if (known) {
                vstr_add_byte(&o->v, '\\');
                vstr_add_byte(&o->v, to[known - from]);
            } else {
                write_escape(o, c);
            }
            p++;
        }
        run = p;
    }
    vstr_add_strn(&o->v, run, p - run);
    vstr_add_byte(&o->v, '"');
}

static void new_line(struct out *o, int depth)
{
    if (o->indent < 0)
        return;
    vstr_add_byte(&o->v, '\n');
    memset(vstr_add_len(&o->v, depth * o->indent), ' ', depth * o->indent);
}

static void write_float(struct out *o, double v, struct above *a)
{
    char buf[32];
    if (isnan(v) || isinf(v)) {
        if (!o->nan)
            misfit(&mp_type_ValueError, a, "Out of range float values are not JSON compliant", "");
        vstr_add_str(&o->v, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
        return;
    }
    vstr_add_strn(&o->v, buf, sp_format_double(v, buf));
}

// Writes None, bool, int and float; false for another type.
static bool write_plain(struct out *o, mp_obj_t value, struct above *a)
{
    if (value == mp_const_none)
        vstr_add_str(&o->v, "null");
    else if (value == mp_const_true)
        vstr_add_str(&o->v, "true");
    else if (value == mp_const_false)
        vstr_add_str(&o->v, "false");
    else if (mp_obj_is_int(value)) {
        mp_print_t print = {&o->v, (mp_print_strn_t)vstr_add_strn};
        mp_obj_print_helper(&print, value, PRINT_REPR);
    } else if (mp_obj_is_float(value))
        write_float(o, mp_obj_get_float(value), a);
    else
        return false;
    return true;
}

// A tuple, or a named tuple.
static bool is_tuple(mp_obj_t v)
{
    return mp_obj_is_type(v, &mp_type_tuple) || (mp_obj_is_obj(v) && MP_OBJ_TYPE_GET_SLOT_OR_NULL(mp_obj_get_type(v), iter) == (const void *)mp_obj_tuple_getiter);
}

static void write_value(struct out *o, mp_obj_t value, struct above *up, int depth);

static void write_list(struct out *o, mp_obj_t value, struct above *a, int depth)
{
    size_t n;
    mp_obj_t *items;
    vstr_add_byte(&o->v, '[');
    mp_obj_get_array(value, &n, &items);
    for (size_t i = 0; i < n; i++) {
        if (i)
            vstr_add_strn(&o->v, o->comma, o->comma_size);
        new_line(o, depth + 1);
        a->key = MP_OBJ_NEW_SMALL_INT(i);
        write_value(o, items[i], a, depth + 1);
        mp_obj_get_array(value, &n, &items);
    }
    if (n)
        new_line(o, depth);
    vstr_add_byte(&o->v, ']');
}

static void write_key(struct out *o, mp_obj_t key, struct above *a)
{
    size_t n;
    if (mp_obj_is_str(key)) {
        const char *s = mp_obj_str_get_data(key, &n);
        write_string(o, s, n);
        return;
    }
    vstr_add_byte(&o->v, '"');
    if (!write_plain(o, key, a)) {
        a->key = MP_OBJ_NULL;
        misfit(&mp_type_TypeError, a, "keys must be str, int, float, bool or None, not %s", mp_obj_get_type_str(key));
    }
    vstr_add_byte(&o->v, '"');
}

static void write_dict(struct out *o, mp_obj_t value, struct above *a, int depth)
{
    mp_map_t *map = mp_obj_dict_get_map(value);
    size_t n = 0;
    vstr_add_byte(&o->v, '{');
    mp_obj_t keys = mp_obj_new_list(0, NULL);
    for (size_t i = 0; i < map->alloc; i++)
        if (mp_map_slot_is_filled(map, i))
            mp_obj_list_append(keys, map->table[i].key);
    if (o->sort)
        mp_obj_list_sort(1, &keys, (mp_map_t *)&mp_const_empty_map);
    mp_obj_t *items;
    mp_obj_get_array(keys, &n, &items);
    for (size_t i = 0; i < n; i++) {
        if (i)
            vstr_add_strn(&o->v, o->comma, o->comma_size);
        new_line(o, depth + 1);
        a->key = items[i];
        write_key(o, items[i], a);
        vstr_add_strn(&o->v, o->colon, o->colon_size);
        write_value(o, mp_obj_dict_get(value, items[i]), a, depth + 1);
    }
    if (n)
        new_line(o, depth);
    vstr_add_byte(&o->v, '}');
}

static void write_value(struct out *o, mp_obj_t value, struct above *up, int depth)
{
    size_t n;
    mp_cstack_check();
    if (mp_obj_is_str(value)) {
        const char *s = mp_obj_str_get_data(value, &n);
        write_string(o, s, n);
        return;
    }
    if (write_plain(o, value, up))
        return;
    for (struct above *a = up; a; a = a->up)
        if (a->value == value)
            misfit(&mp_type_ValueError, up, "Circular reference detected", "");
    struct above here = {up, value, MP_OBJ_NULL};
    mp_obj_t base = mp_obj_cast_to_native_base(value, MP_OBJ_FROM_PTR(&mp_type_dict));
    if (base != MP_OBJ_NULL) {
        write_dict(o, base, &here, depth);
        return;
    }
    if (mp_obj_is_type(value, &mp_type_list) || is_tuple(value)) {
        write_list(o, value, &here, depth);
        return;
    }
    if ((base = mp_obj_cast_to_native_base(value, MP_OBJ_FROM_PTR(&mp_type_list))) != MP_OBJ_NULL || (base = mp_obj_cast_to_native_base(value, MP_OBJ_FROM_PTR(&mp_type_tuple))) != MP_OBJ_NULL) {
        write_list(o, base, &here, depth);
        return;
    }
    if ((base = mp_obj_cast_to_native_base(value, MP_OBJ_FROM_PTR(&mp_type_str))) != MP_OBJ_NULL) {
        const char *s = mp_obj_str_get_data(base, &n);
        write_string(o, s, n);
        return;
    }
    if (o->convert == mp_const_none)
        misfit(&mp_type_TypeError, up, "Object of type %s is not JSON serializable", mp_obj_get_type_str(value));
    write_value(o, mp_call_function_1(o->convert, value), &here, depth);
}

static void separator(mp_obj_t given, const char **text, size_t *size)
{
    *text = mp_obj_str_get_data(given, size);
}

// dumps(value, comma, colon, ascii, sort, nan, indent, default): str
static mp_obj_t json_dumps(size_t n_args, const mp_obj_t *args)
{
    struct out o = {.ascii = mp_obj_is_true(args[3]), .sort = mp_obj_is_true(args[4]), .nan = mp_obj_is_true(args[5]), .indent = mp_obj_get_int(args[6]), .convert = args[7]};
    separator(args[1], &o.comma, &o.comma_size);
    separator(args[2], &o.colon, &o.colon_size);
    vstr_init(&o.v, 64);
    write_value(&o, args[0], NULL, 0);
    return mp_obj_new_str_from_utf8_vstr(&o.v);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(json_dumps_obj, 8, 8, json_dumps);

static const mp_rom_map_elem_t json_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__json)},
    {MP_ROM_QSTR(MP_QSTR_loads), MP_ROM_PTR(&json_loads_obj)},
    {MP_ROM_QSTR(MP_QSTR_dumps), MP_ROM_PTR(&json_dumps_obj)},
};
static MP_DEFINE_CONST_DICT(json_globals, json_table);
const mp_obj_module_t sp_json_module = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&json_globals};
MP_REGISTER_MODULE(MP_QSTR__json, sp_json_module);
