"""Runs a program of WASI preview 1 in wasmtime, with the standard streams of this process and nothing else."""

import sys

from wasmtime import Engine, ExitTrap, Linker, Module, Store, WasiConfig

engine = Engine()
store, linker, wasi = Store(engine), Linker(engine), WasiConfig()
wasi.argv = sys.argv[1:]
wasi.inherit_stdin()
wasi.inherit_stdout()
wasi.inherit_stderr()
store.set_wasi(wasi)
linker.define_wasi()
instance = linker.instantiate(store, Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except ExitTrap as end:
    sys.exit(end.code)
