package runtime_test

import (
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// hostileNumbers returns guests that look for differences between two calls in the bits of a NaN.
func hostileNumbers() []attack {
	zero32, zero64 := w.Code(b(0x43), make([]byte, 4)), w.Code(b(0x44), make([]byte, 8))
	zero128 := w.Code(b(0xfd, 12), make([]byte, 16))
	// The bits of 0/0 in a type, folded to 32.
	return []attack{
		{name: "bits of f32 0/0", wasm: world(zero32, zero32, b(0x95, 0xbc)).Bytes(), want: "answer -4194304", calls: 3},
		{name: "bits of f64 0/0", wasm: world(zero64, zero64, b(0xa3, 0xbd), w.I64Const(32), w.I64Shr, w.I32Wrap).Bytes(), want: "answer -524288", calls: 3},
		{name: "bits of f32 sqrt(-1)", wasm: world(b(0x43, 0, 0, 0x80, 0xbf), b(0x91, 0xbc)).Bytes(), want: "answer -4194304", calls: 3},
		{name: "bits of f32x4 0/0", wasm: world(zero128, zero128, b(0xfd, 0xe7, 1), b(0xfd, 27, 3)).Bytes(), want: "answer -4194304", calls: 3},
		{name: "bits of f64x2 min", wasm: world(zero128, zero128, b(0xfd, 0xf3, 1), zero128, b(0xfd, 0xf4, 1), b(0xfd, 27, 1)).Bytes(), want: "answer -524288", calls: 3},
	}
}

// hostileSecrets returns guests that keep a secret and look for it in the next call. The result is 1 if a secret is
// found, in any place.
func hostileSecrets() []attack {
	nought := w.I32Const(0)
	secret := w.I32Const(0x5ec2e7)
	load := func(at int32) []byte { return w.Code(w.I32Const(at), w.I32Load(0)) }
	store := func(at int32) []byte { return w.Code(w.I32Const(at), secret, w.I32Store(0)) }
	// look leaves a number that is not zero if there is a secret.
	canary := func(m *w.Module, look []byte, keep ...[]byte) *w.Module {
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, look, b(0x04, w.I32), w.I32Const(1), w.Else, w.Code(keep...), nought, w.End))
		return m
	}
	plain := func(look []byte, keep ...[]byte) []byte {
		var m w.Module
		m.Memory(2, w.None)
		m.Table(2, 100)
		m.Global(w.I32, 0)
		m.Global(w.I64, 0)
		m.GlobalRaw(w.F32, 1, b(0x43), make([]byte, 4))
		m.GlobalRaw(w.F64, 1, b(0x44), make([]byte, 8))
		m.GlobalRaw(w.V128, 1, b(0xfd, 12), make([]byte, 16))
		m.Export("f", m.Func(nil, nil, nil))
		return canary(&m, look, keep...).Bytes()
	}
	lane := func(i byte) []byte { return w.Code(w.GlobalGet(4), b(0xfd, 29, i), w.I64Const(0), b(0x52)) }
	ones := w.Code(b(0xfd, 12), w.Repeat(16, b(1)))
	entry := w.Code(w.I32Const(1), b(0x25, 0, 0xd1), w.I32Eqz)
	passive := new(w.Module)
	passive.Memory(1, 1)
	passive.PassiveData([]byte("data"))
	init := w.Code(numbers(0, 0, 4), b(0xfc, 8, 0, 0))
	element := new(w.Module)
	element.Table(2, 2)
	element.ElementsRaw(1, 0, 1, 0)
	element.Func(nil, nil, nil)
	started := new(w.Module)
	started.Global(w.I32, 0)
	started.Start(started.Func(nil, nil, nil, w.GlobalGet(0), w.I32Const(1), w.I32Add, w.GlobalSet(0)))
	kept := []attack{
		{name: "in an i32", wasm: plain(w.GlobalGet(0), secret, w.GlobalSet(0))},
		{name: "in an i64", wasm: plain(w.Code(w.GlobalGet(1), w.I64Const(0), b(0x52)), w.I64Const(1<<40), w.GlobalSet(1))},
		{name: "in an f32", wasm: plain(w.Code(w.GlobalGet(2), b(0xbc)), b(0x43, 1, 2, 3, 4), w.GlobalSet(2))},
		{name: "in an f64", wasm: plain(w.Code(w.GlobalGet(3), b(0xbd), w.I64Const(0), b(0x52)), b(0x44, 1, 2, 3, 4, 5, 6, 7, 8), w.GlobalSet(3))},
		{name: "in a v128, below", wasm: plain(lane(0), ones, w.GlobalSet(4))},
		{name: "in a v128, above", wasm: plain(lane(1), ones, w.GlobalSet(4))},
		{name: "at address 0", wasm: plain(load(0), store(0))},
		{name: "beyond the heap", wasm: plain(load(2<<16-4), store(2<<16-4))},
		{name: "in all of the memory", wasm: plain(load(70_000), numbers(0, 7, 2<<16), b(0xfc, 11, 0))},
		{name: "in a page that grew", wasm: plain(w.Code(w.I32Const(1), w.MemoryGrow, w.Drop, load(2<<16)), store(2<<16))},
		{name: "in 100 pages that grew", wasm: plain(w.Code(w.I32Const(100), w.MemoryGrow, w.Drop, load(101<<16)), store(101<<16))},
		{name: "in the memory's size", wasm: plain(w.Code(w.MemorySize, w.I32Const(2), b(0x47)), w.I32Const(1), w.MemoryGrow, w.Drop)},
		{name: "in a table", wasm: plain(entry, w.I32Const(1), b(0xd2, 0), b(0x26, 0))},
		{name: "in a table that grew", wasm: plain(w.Code(b(0xfc, 16, 0), w.I32Const(2), b(0x47)), b(0xd2, 0), w.I32Const(5), b(0xfc, 15, 0), w.Drop)},
		{name: "in a table that was filled", wasm: plain(entry, w.I32Const(0), b(0xd2, 0), w.I32Const(2), b(0xfc, 17, 0))},
		{name: "in data that was dropped", wasm: canary(passive, w.Code(init, nought), b(0xfc, 9, 0)).Bytes()},
		{name: "in elements that were dropped", wasm: canary(element, w.Code(numbers(0, 0, 1), b(0xfc, 12, 0, 0), nought), b(0xfc, 13, 0)).Bytes()},
		{name: "in how often it started", wasm: canary(started, w.Code(w.GlobalGet(0), w.I32Const(1), b(0x47))).Bytes()},
		{name: "in a closed descriptor", wasm: wasiGuest("fd_close", "i", numbers(1), w.Call(0)).Bytes()},
		{name: "in a descriptor's flags", wasm: flags()},
		{name: "in a moved descriptor", wasm: wasiGuest("fd_renumber", "ii", numbers(1, 2), w.Call(0)).Bytes()},
	}
	for i := range kept {
		kept[i].name, kept[i].want, kept[i].calls = "secret "+kept[i].name, "answer 0", 3
	}
	for _, end := range []struct {
		name, want string
		code       []byte
	}{{"then a trap", "trap: the guest trapped: unreachable", w.Unreachable}, {"then its deadline", late, loop()}} {
		kept = append(kept, attack{name: "secret in all, " + end.name, calls: 3, want: end.want,
			wasm: plain(w.Code(w.GlobalGet(0), load(70_000), b(0x72), entry, b(0x72)), secret, w.GlobalSet(0),
				numbers(0, 7, 2<<16), b(0xfc, 11, 0), w.I32Const(1), b(0xd2, 0), b(0x26, 0), end.code)})
	}
	return kept
}

// flags sets NONBLOCK on standard input; it returns 1 if the flag was already set.
func flags() []byte {
	var m w.Module
	m.Import("wasi_snapshot_preview1", "fd_fdstat_get", []byte{w.I32, w.I32}, []byte{w.I32})
	m.Import("wasi_snapshot_preview1", "fd_fdstat_set_flags", []byte{w.I32, w.I32}, []byte{w.I32})
	m.Memory(1, 1)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil,
		numbers(0, 64), w.Call(0), w.Drop, w.I32Const(66), b(0x2d, 0, 0), w.I32Const(0), b(0x47),
		numbers(0, 4), w.Call(1), w.Drop))
	return m.Bytes()
}
