"""Runs a WASI program in wasmtime: runwasmtime.py MODULE ROOT NAME=VALUE… -- ARGUMENT…, with ROOT (if any) as the folder /."""
import os
import sys

import wasmtime

module, root = sys.argv[1:3]
split = sys.argv.index("--")
config = wasmtime.WasiConfig()
config.argv = [os.path.basename(module)] + sys.argv[split + 1:]
config.env = [entry.split("=", 1) for entry in sys.argv[3:split]]
config.inherit_stdin()
config.inherit_stdout()
config.inherit_stderr()
if root:
    config.preopen_dir(root, "/")
engine = wasmtime.Engine()
store = wasmtime.Store(engine)
store.set_wasi(config)
linker = wasmtime.Linker(engine)
linker.define_wasi()
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, module))
try:
    instance.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
