package runtime_test

import (
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// wasiGuest returns a module that imports one WASI function, as function 0; i means a parameter of type i32, I one of
// type i64. run is function 1.
func wasiGuest(name, params string, parts ...[]byte) *w.Module {
	var m w.Module
	types := []byte(strings.NewReplacer("i", "\x7f", "I", "\x7e").Replace(params))
	results := []byte{w.I32}
	if name == "proc_exit" {
		results = nil
	}
	m.Import("wasi_snapshot_preview1", name, types, results)
	m.Memory(1, w.None)
	m.Global(w.I32, 0)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, parts...))
	return &m
}

// numbers pushes numbers.
func numbers(n ...int32) []byte {
	var out []byte
	for _, i := range n {
		out = append(out, w.I32Const(i)...)
	}
	return out
}

// hostileWASI returns guests that attack the host through WASI.
func hostileWASI() []attack {
	call := w.Call(0)
	exit := func(code int32) *w.Module { return wasiGuest("proc_exit", "i", numbers(code), call, w.I32Const(1)) }
	// A relative subscription to the monotonic clock, in nanoseconds.
	sleep := func(ns int64) []byte {
		return w.Code(w.I32Const(16), w.I32Const(1), w.I32Store(0), w.I32Const(24), w.I64Const(ns), w.I64Store(0))
	}
	poll := func(code ...[]byte) []byte { return wasiGuest("poll_oneoff", "iiii", code...).Bytes() }
	const year = 365 * 24 * 3600 * 1e9
	path := w.Code(w.I32Const(3), w.I32Const(0), numbers(0, 1<<30), w.I32Const(0), w.I64Const(-1), w.I64Const(-1), numbers(0, 8), call)
	start := exit(5)
	start.Start(start.Func(nil, nil, nil, numbers(6), call))
	initialize := exit(5)
	initialize.Export("_initialize", initialize.Func(nil, nil, nil, numbers(7), call))
	descriptors := counted(65_536, w.GlobalGet(0), numbers(0, 1, 64), call, w.Drop)
	return []attack{
		{name: "exits in the call", wasm: exit(3).Bytes(), want: "exit: the guest exited with code 3", calls: 2},
		{name: "exits as if all were well", wasm: exit(0).Bytes(), want: "exit: the guest exited with code 0"},
		{name: "exits with the engine's code", wasm: exit(-1).Bytes(), want: "exit: the guest exited with code 4294967295"},
		{name: "exits at start", wasm: start.Bytes(), want: "exit: the guest exited with code 6"},
		{name: "exits in _initialize", wasm: initialize.Bytes(), want: "exit: the guest exited with code 7"},
		{name: "sleeps for a year", wasm: poll(sleep(year), numbers(0, 128, 1, 256), call), want: late},
		{name: "sleeps until the end of time", wasm: poll(sleep(-1), numbers(0, 128, 1, 256), call), want: late},
		{name: "sleeps for nothing, for ever", wasm: poll(loop(sleep(0), numbers(0, 128, 1, 256), call, w.Drop)), want: late},
		{name: "sleeps a billion times at once", wasm: poll(numbers(0, 128, 1<<30, 256), call), want: "answer 28"},
		{name: "sleeps on nothing", wasm: poll(numbers(0, 128, 0, 256), call), want: "answer 28"},
		{name: "writes to every descriptor", wasm: wasiGuest("fd_write", "iiii", descriptors, w.I32Const(1)).Bytes(), want: "answer 1"},
		{name: "writes 2 G pieces", wasm: wasiGuest("fd_write", "iiii", numbers(1, 0, -1, 64), call).Bytes(), want: "answer 28"},
		{name: "writes from outside", wasm: wasiGuest("fd_write", "iiii", numbers(1, -8, 1, 64), call).Bytes(), want: "answer 21"},
		{name: "writes to standard output", wasm: wasiGuest("fd_write", "iiii", w.I32Const(4), w.I32Const(65536), w.I32Store(0), loop(numbers(1, 0, 1, 64), call, w.Drop)).Bytes(), want: late},
		{name: "4 GiB of random bytes", wasm: wasiGuest("random_get", "ii", numbers(0, -1), call).Bytes(), want: "answer 21"},
		{name: "random bytes for ever", wasm: wasiGuest("random_get", "ii", loop(numbers(0, 65536), call, w.Drop)).Bytes(), want: late},
		{name: "a path of 1 GiB", wasm: wasiGuest("path_open", "iiiiiIIii", path).Bytes(), want: "answer 37"},
		{name: "closes every descriptor", wasm: wasiGuest("fd_close", "i", counted(65_536, w.GlobalGet(0), call, w.Drop), numbers(1), call).Bytes(), want: "answer 8", calls: 2},
		{name: "reads what never comes", wasm: wasiGuest("fd_read", "iiii", loop(numbers(0, 0, 1, 64), call, w.Drop)).Bytes(), want: late},
	}
}

// hostileNative returns guests that violate the native ABI.
func hostileNative() []attack {
	const open = `{"method":"stream/open","params":{"limit":10}}`
	const data = 1024
	four := func(text string, code ...[]byte) []byte {
		var m w.Module
		three := []byte{w.I32, w.I32, w.I32}
		m.Import("sallyport", "read", three, []byte{w.I32})
		m.Import("sallyport", "write", three, []byte{w.I32})
		m.Import("sallyport", "call", []byte{w.I32, w.I32}, []byte{w.I64})
		m.Import("sallyport", "close", []byte{w.I32}, []byte{w.I32})
		m.Memory(1, w.None)
		m.Global(w.I32, 0)
		m.Data(data, []byte(text))
		m.Export("mcp_handle", m.Func([]byte{w.I32}, []byte{w.I32}, nil, code...))
		return m.Bytes()
	}
	says := func(text string) []byte {
		return four(text, numbers(1, data, int32(len(text))), w.Call(1), w.Drop, w.I32Const(0))
	}
	ask := w.Code(numbers(data, int32(len(open))), w.Call(2), w.Drop)
	all := []attack{
		{name: "no answer", wasm: four("", w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "an error number", wasm: four("", w.I32Const(99)), want: "guest: the guest ended the call with error 99"},
		{name: "an answer of no JSON", wasm: says("\xff\xfe"), want: "guest: the guest's answer is not a JSON object: …"},
		{name: "an answer a thousand deep", wasm: says(strings.Repeat("[", 1000)), want: "guest: the guest's answer is not a JSON object: …"},
		{name: "result and error", wasm: says(`{"result":{},"error":{}}`), want: "guest: the guest's answer has both a result and an error"},
		{name: "an error without a code", wasm: says(`{"error":{"message":"m"}}`), want: "guest: the guest's error has no code"},
		{name: "an answer without an end", wasm: four("", loop(numbers(1, 0, 65536), w.Call(1), w.Drop)), want: "limit: the answer is over the limit of 262144 bytes"},
		{name: "an answer from outside", wasm: four("", numbers(1, -1, 2), w.Call(1)), want: "guest: the guest ended the call with error 4294967275"},
		{name: "streams never closed", wasm: four(open, counted(1_000_000, ask), w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "asks in a loop", wasm: four(`{"method":"http/fetch","params":{}}`, loop(numbers(data, 35), w.Call(2), w.Drop)), want: late},
		{name: "asks with no JSON", wasm: four("{", numbers(data, 1), w.Call(2), w.Drop, w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "asks from outside", wasm: four("", numbers(-1, -1), w.Call(2), w.Drop, w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "reads every stream", wasm: four("", counted(100_000, w.GlobalGet(0), numbers(0, 65536), w.Call(0), w.Drop), w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "closes every stream", wasm: four("", counted(100_000, w.GlobalGet(0), w.Call(3), w.Drop), w.I32Const(0)), want: "guest: the guest wrote no answer"},
		{name: "endless while it describes", wasm: four("", loop()), want: late},
		{name: "mcp_handle of another type", wasm: times(1, func(m *w.Module) { m.Export("mcp_handle", m.Func(nil, nil, nil)) }),
			want: `guest: the exported function "mcp_handle" has the type () -> () instead of (i32) -> i32`},
	}
	for i := range all {
		all[i].dialect = native.New()
	}
	return all
}
