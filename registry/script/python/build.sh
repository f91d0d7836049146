#!/usr/bin/env bash
# build.sh BUILD: builds engine.wasm from MicroPython and the files beside it, and writes SHA256SUMS. MicroPython is Debian's
# source package, wasm-opt comes from npm; both have pinned digests. Needs clang, lld, wasi-libc, libclang-rt-dev-wasm32,
# dpkg-dev, python3, node, npm and go.
set -euo pipefail
mkdir -p "$1"
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
here=$PWD

version=1.25.0+ds
sum=7b25be99a502f070b2de81dafc08da7051d992325d6e67daa9045a918fffdbea
if [ ! -f "$build/micropython.tar.xz" ]; then
  mkdir -p "$build/lists/partial"
  sed 's/^Types: deb$/Types: deb-src/; s/^Suites: .*/Suites: trixie/' /etc/apt/sources.list.d/debian.sources | sed '/^$/,$d' > "$build/trixie.sources"
  (
    cd "$build"
    set -- -q -o "Dir::Etc::sourcelist=$build/trixie.sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$build/lists"
    { apt-get "$@" update && apt-get "$@" source --download-only "micropython=$version-1"; } >/dev/null
    mv "micropython_$version.orig.tar.xz" micropython.tar.xz
  )
fi
echo "$sum  $build/micropython.tar.xz" | sha256sum --check --quiet
cp package.json package-lock.json "$build/"
(cd "$build" && npm ci --silent --no-audit --no-fund --ignore-scripts)

top=$build/micropython
rm -rf "$top" "$build/objects"
mkdir "$top"
tar xJf "$build/micropython.tar.xz" -C "$top" --strip-components=1
# The column of a syntax error.
sed -i 's/^ *mp_obj_exception_add_traceback(exc, lex->source_name, lex->tok_line, MP_QSTRnull);/{ extern size_t sp_error_column; sp_error_column = lex->tok_column; }\n&/' "$top/py/parse.c"
# Dictionaries in the order of insertion: ordered.c.
sed -i 's/^void mp_map_init(/void original_map_init(/; s/MICROPY_WRAP_MP_MAP_LOOKUP(mp_map_lookup)(mp_map_t/original_map_lookup(mp_map_t/' "$top/py/map.c"
sed -i 's/self->map.alloc \* sizeof(mp_map_elem_t)/self->map.is_ordered ? self->map.alloc * sizeof(mp_map_elem_t) : sp_map_size(self->map.alloc)/; s/^#include "py\/runtime.h"/&\nsize_t sp_map_size(size_t alloc);/' "$top/py/objdict.c"
sed -i '/^static mp_obj_t dict_popitem/,/^}/s/size_t cur = 0;/size_t cur = self->map.alloc; while (!mp_map_slot_is_filled(\&self->map, cur - 1)) cur--; cur--;/' "$top/py/objdict.c"
# Recursions that MicroPython does not bound would end in a trap.
sed -i 's/^mp_obj_t mp_obj_equal_not_equal(.*{$/&\n    mp_cstack_check();/; s/^#include "py\/runtime.h"/&\n#include "py\/cstack.h"/' "$top/py/obj.c"
sed -i 's/^static void compile_node(.*{$/&\n    mp_cstack_check();/; s/^#include "py\/runtime.h"/&\n#include "py\/cstack.h"/' "$top/py/compile.c"
sed -i 's/^        case MP_UNARY_OP_HASH: {$/&\n            mp_cstack_check();/; s/^#include "py\/runtime.h"/&\n#include "py\/cstack.h"/' "$top/py/objtuple.c"
# Stars in literals: literals.h.
sed -i 's/rule(dictorsetmaker_item), opt_rule(dictorsetmaker_tail)/rule(dictorsetmaker_part), opt_rule(dictorsetmaker_tail)/; s/list_with_end, rule(dictorsetmaker_item), tok(DEL_COMMA))/list_with_end, rule(dictorsetmaker_part), tok(DEL_COMMA))\nDEF_RULE_NC(dictorsetmaker_part, or(3), rule(star_expr), rule(arglist_dbl_star), rule(dictorsetmaker_item))/' "$top/py/grammar.h"
sed -i '/^static void compile_generic_tuple/i #include "literals.h"' "$top/py/compile.c"
sed -i '/^static void compile_generic_tuple/,/^}/s/^    size_t num_nodes = .*/&\n    if (sp_any_starred(num_nodes, pns->nodes)) {\n        sp_tuple(comp, num_nodes, pns->nodes);\n        return;\n    }/' "$top/py/compile.c"
sed -i '/^static void compile_atom_bracket/,/^}/{s/^            \/\/ list with N items/            if (sp_any_starred(MP_PARSE_NODE_STRUCT_NUM_NODES(pns2), pns2->nodes)) {\n                sp_list(comp, MP_PARSE_NODE_STRUCT_NUM_NODES(pns2), pns2->nodes);\n                return;\n            }/; s/^        \/\/ list with 1 item/        if (sp_is_starred(pns->nodes[0])) {\n            sp_list(comp, 1, pns->nodes);\n            return;\n        }/}' "$top/py/compile.c"
sed -i '/^static void compile_atom_brace_helper(.*{$/,/^}/s/^    mp_parse_node_t pn = pns->nodes\[0\];/&\n    if (create_map \&\& sp_braces(comp, pn)) {\n        return;\n    }/' "$top/py/compile.c"
sed -i 's/^                    && !MP_PARSE_NODE_IS_STRUCT_KIND(pns0->nodes\[0\], PN_star_expr)/                    \&\& !sp_any_starred(n_pns0, pns1->nodes)\n&/' "$top/py/compile.c"
# A bool is an int for isinstance, int has a keyword, slices have steps, and repr keeps letters beyond ASCII: builtins.c.
sed -i '/^static mp_obj_t mp_obj_is_subclass(.*{$/,/^}/s/|| mp_obj_is_subclass_fast(object, items\[i\])/& || (object == MP_OBJ_FROM_PTR(\&mp_type_bool) \&\& items[i] == MP_OBJ_FROM_PTR(\&mp_type_int))/' "$top/py/objtype.c"
sed -i '/^static mp_obj_t mp_obj_int_make_new/,/^}/s/^    mp_arg_check_num(.*/    mp_obj_t with_base[2];\n    if (n_args == 1 \&\& n_kw == 1 \&\& args[1] == MP_OBJ_NEW_QSTR(MP_QSTR_base)) {\n        with_base[0] = args[0], with_base[1] = args[2];\n        args = with_base, n_args = 2, n_kw = 0;\n    }\n&/' "$top/py/objint.c"
sed -i '/^static void uni_print_quoted/,/^}/s/^        } else if (ch < 0x100) {/        } else if (sp_print_letter(print, ch)) {\n&/; s/^static void uni_print_quoted/bool sp_print_letter(const mp_print_t *print, unichar c);\n&/' "$top/py/objstrunicode.c"
sed -i '/^static mp_obj_t mp_builtin_round/,/^}/s/MICROPY_FLOAT_C_FUN(nearbyint)(val \* mult) \/ mult/sp_round(val, num_dig)/; s/^static mp_obj_t mp_builtin_round/double sp_round(double v, int digits);\n&/' "$top/py/modbuiltins.c"
sed -i 's/^\( *\)mp_raise_NotImplementedError(MP_ERROR_TEXT("only slices with step=1 (aka None) are supported"));/\1{ extern mp_obj_t sp_slice(mp_obj_t, mp_obj_t); return sp_slice(self_in, index); }/' "$top/py/objstr.c" "$top/py/objstrunicode.c" "$top/py/objtuple.c"
# hashlib.py has the rest of it.
sed -i 's/MP_REGISTER_EXTENSIBLE_MODULE(MP_QSTR_hashlib,/MP_REGISTER_MODULE(MP_QSTR__hashlib,/' "$top/extmod/modhashlib.c"
# Numbers as CPython reads and writes them: json.c.
sed -i 's/^    mp_format_float(o_val, buf, sizeof(buf), .g., precision, .\\0.);/    { extern size_t sp_format_double(double, char *); sp_format_double(o_val, buf); }/' "$top/py/objfloat.c"
sed -i 's/^    if (allow_imag && str < top && (\*str | 0x20) == .j.) {/    { extern double sp_parse_double(const char *, const char *, double); dec_val = sp_parse_double(str_val_start, str, dec_val); }\n&/' "$top/py/parsenum.c"

# The version of MicroPython has the commit of a repository around it and the day, unless it is told.
export SOURCE_DATE_EPOCH=0 MICROPY_GIT_TAG=v1.25.0 MICROPY_GIT_HASH=none GIT_CEILING_DIRECTORIES=/
# clang runs a wasm-opt that it finds when it links, and inlining would break the next step: so no -O here.
make -s -j2 "TOP=$top" "BUILD=$build/objects" all >/dev/null
clang --target=wasm32-wasi -O2 -c unwind.c -o "$build/objects/unwind.o"
# shellcheck disable=SC2046
clang --target=wasm32-wasi -mexec-model=reactor -Wl,-O2 -Wl,--strip-debug -Wl,--stack-first -Wl,-z,stack-size=1048576 \
  -Wl,--initial-memory=8388608 -o "$build/linked.wasm" $(cat "$build/objects/list") "$build/objects/unwind.o" -lm
# The collector finds pointers on the stack of C only: each one that lives during a call goes there.
"$build/node_modules/.bin/wasm-opt" "$build/linked.wasm" -g --flatten --spill-pointers --simplify-locals --coalesce-locals --simplify-locals \
  --reorder-locals --vacuum --merge-blocks --remove-unused-brs --remove-unused-names --vacuum -o "$build/spilled.wasm"
(cd "$here/unwind" && go run . "$build/spilled.wasm" "$here/engine.wasm")
sha256sum build.sh Makefile package-lock.json ./*.[ch] unwind/*.go engine.wasm | sed 's| \./| |' > SHA256SUMS
