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
