// What the built-in types of CPython do and those of MicroPython do not.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "py/mpprint.h"
#include "py/objlist.h"
#include "py/runtime.h"

// Rounds the decimal value of a number, as CPython does: 2.675 is a little less than that.
double sp_round(double v, int digits)
{
    char text[700];
    if (!isfinite(v) || digits > 330)
        return v;
    if (digits < 0) {
        double unit = pow(10, -digits);
        return isinf(unit) ? 0 * v : nearbyint(v / unit) * unit;
    }
    snprintf(text, sizeof text, "%.*f", digits, v);
    return strtod(text, NULL);
}

// Prints a character beyond ASCII if repr keeps it: no control, space, mark of direction or private character.
bool sp_print_letter(const mp_print_t *print, unichar c)
{
    static const unichar hidden[][2] = {{0, 0xa0}, {0xad, 0xad}, {0x600, 0x605}, {0x61c, 0x61c}, {0x6dd, 0x6dd}, {0x1680, 0x1680}, {0x180e, 0x180e}, {0x2000, 0x200f},
        {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xd800, 0xf8ff}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (c >= hidden[i][0] && c <= hidden[i][1])
            return false;
    vstr_t v;
    vstr_init(&v, 4);
    vstr_add_char(&v, c);
    print->print_strn(print->data, v.buf, v.len);
    vstr_clear(&v);
    return true;
}

// Returns a slice with a step of a str, bytes or tuple: by a list.
mp_obj_t sp_slice(mp_obj_t self, mp_obj_t slice)
{
    mp_obj_t list = mp_call_function_1(MP_OBJ_FROM_PTR(&mp_type_list), self);
    list = mp_obj_subscr(list, slice, MP_OBJ_SENTINEL);
    if (!mp_obj_is_str(self))
        return mp_call_function_1(MP_OBJ_FROM_PTR(mp_obj_get_type(self)), list);
    mp_obj_t join[3];
    mp_load_method(MP_OBJ_NEW_QSTR(MP_QSTR_), MP_QSTR_join, join);
    join[2] = list;
    return mp_call_method_n_kw(1, 0, join);
}
