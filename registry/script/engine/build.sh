#!/usr/bin/env bash
# build.sh BUILD: builds engine.wasm from engine.c and QuickJS-ng, which comes from a registry with a pinned digest
# (source/Cargo.lock), and writes SHA256SUMS. Needs cargo, patch, clang, lld, wasi-libc and libclang-rt-dev-wasm32.
set -euo pipefail
mkdir -p "$1"
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
cargo vendor --quiet --locked --manifest-path source/Cargo.toml "$build/vendor" >/dev/null
rm -rf "$build/quickjs" && cp -r "$build/vendor/rquickjs-sys/quickjs" "$build/quickjs"
# The changes of quickjs.patch: JSON and searches take a run of characters at a time, not one (runs.h), and the stack is checked.
patch --silent --strip 1 --directory "$build/quickjs" < quickjs.patch
flags=(--target=wasm32-wasi -O2 -mbulk-memory -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_PROCESS_CLOCKS "-I$build/quickjs")
for file in quickjs libregexp libunicode dtoa; do
  clang "${flags[@]}" -w -include runs.h -c "$build/quickjs/$file.c" -o "$build/$file.o"
done
clang "${flags[@]}" -c engine.c -o "$build/engine.o"
# -O2 is for the linker alone: clang itself would run wasm-opt, where it is installed.
clang --target=wasm32-wasi -mexec-model=reactor -Wl,-O2 -Wl,--strip-all -Wl,--stack-first -Wl,-z,stack-size=1048576 \
  -Wl,--initial-memory=12582912 -o engine.wasm "$build"/{engine,quickjs,libregexp,libunicode,dtoa}.o -lwasi-emulated-process-clocks -lm
sha256sum build.sh engine.c quickjs.patch runs.h source/Cargo.lock engine.wasm > SHA256SUMS
