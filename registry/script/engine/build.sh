#!/usr/bin/env bash
# build.sh BUILD: builds engine.wasm from engine.c and QuickJS-ng, which comes from a registry with a pinned digest
# (source/Cargo.lock), and writes SHA256SUMS. Needs cargo, clang, lld, wasi-libc and libclang-rt-dev-wasm32.
set -euo pipefail
mkdir -p "$1"
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
cargo vendor --quiet --locked --manifest-path source/Cargo.toml "$build/vendor" >/dev/null
rm -rf "$build/quickjs" && cp -r "$build/vendor/rquickjs-sys/quickjs" "$build/quickjs"
# On WASI the engine does not check its stack, and a deep recursion would end in a trap instead of a RangeError.
sed -i '/^static void update_stack_limit/,/^}/s/defined(__wasi__)/0/' "$build/quickjs/quickjs.c"
# JSON and searches take a run of characters at a time, not one (runs.h).
sed -i -e '/^static JSValue JS_ToQuotedString/,/^}/s/^ *c = string_getc(p, &i);/WRITE_RUN(b, p, i)\n&/' \
  -e '/^static int json_parse_string/,/^}/{/while (p < s->buf_end && \*p != /{N;s/.*/{ p += plain_run(p, s->buf_end - p, 1);/}}' \
  -e '/^static int string_indexof_char/,/^}/s/if ((c & ~0xff) == 0) {/& FIND_BYTE(p, c, from, len)/' \
  -e '/^const char \*JS_ToCStringLen2/,/^}/{/for (pos = 0; pos < len; pos++) {/{N;/count +=/{N;s/.*/count = high_bytes(src, len);/}}}' "$build/quickjs/quickjs.c"
sed -i '/^static inline int utf8_scan(.*plen)$/,/^}/{/for (i = 0; i < buf_len; i++)/{N;s/.*/cbits = high_bytes(buf, buf_len) ? 0x80 : 0;/}}' "$build/quickjs/cutils.h"
for place in 'WRITE_RUN(b' 'plain_run(p' 'FIND_BYTE(p' 'high_bytes(src' 'high_bytes(buf'; do
  grep -q "$place" "$build"/quickjs/{quickjs.c,cutils.h} || { echo "QuickJS changed: there is no place for $place" >&2; exit 1; }
done
flags=(--target=wasm32-wasi -O2 -mbulk-memory -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_PROCESS_CLOCKS "-I$build/quickjs")
for file in quickjs libregexp libunicode dtoa; do
  clang "${flags[@]}" -w -include runs.h -c "$build/quickjs/$file.c" -o "$build/$file.o"
done
clang "${flags[@]}" -c engine.c -o "$build/engine.o"
clang --target=wasm32-wasi -mexec-model=reactor -O2 -Wl,--strip-all -Wl,--stack-first -Wl,-z,stack-size=1048576 \
  -Wl,--initial-memory=12582912 -o engine.wasm "$build"/{engine,quickjs,libregexp,libunicode,dtoa}.o -lwasi-emulated-process-clocks -lm
sha256sum build.sh engine.c runs.h source/Cargo.lock engine.wasm > SHA256SUMS
