package wasmtest

// Instructions used by the kernels only.
var (
	i32Mul   = []byte{0x6c}
	i32Sub   = []byte{0x6b}
	i32LtS   = []byte{0x48}
	i32LtU   = []byte{0x49}
	i32GeU   = []byte{0x4f}
	i32Load8 = []byte{0x2d, 0, 0}
	i32Set8  = []byte{0x3a, 0, 0}
	f64Load  = []byte{0x2b, 3, 0}
	f64Store = []byte{0x39, 3, 0}
	f64Add   = []byte{0xa0}
	f64Mul   = []byte{0xa2}
	f64Of    = []byte{0xb7} // from i32
	i32Of    = []byte{0xaa} // from f64
	fill     = []byte{0xfc, 11, 0}
)

// Kernels returns a module of small compute functions of type (i32) -> i32, as a C compiler would write them: spin,
// sieve, fib and matmul; and of functions that never end: endless, deeper, indirect, fill.
func Kernels() []byte {
	var m Module
	m.Memory(16, None)
	i32 := []byte{I32}
	m.Export("spin", m.Func(i32, i32, []byte{I32, I32}, spin()))
	m.Export("sieve", m.Func(i32, i32, []byte{I32, I32, I32}, sieve()))
	const fib = 2
	m.Export("fib", m.Func(i32, i32, nil,
		LocalGet(0), I32Const(2), i32LtS, []byte{0x04, I32}, LocalGet(0), Else,
		LocalGet(0), I32Const(1), i32Sub, Call(fib), LocalGet(0), I32Const(2), i32Sub, Call(fib), I32Add, End))
	m.Export("endless", m.Func(i32, i32, nil, LoopVoid, Br(0), End, LocalGet(0)))
	const deeper = 4
	m.Export("deeper", m.Func(i32, i32, nil, LocalGet(0), Call(deeper), I32Const(1), I32Add))
	m.Table(2, 2)
	m.Elements(0, deeper+1)
	m.Export("indirect", m.Func(i32, i32, nil, LocalGet(0), I32Const(0), []byte{0x11}, U32(0), []byte{0}, I32Const(1), I32Add))
	m.Export("fill", m.Func(i32, i32, nil, LoopVoid, I32Const(0), I32Const(1), LocalGet(0), fill, Br(0), End, LocalGet(0)))
	m.Export("matmul", m.Func(i32, i32, []byte{I32, I32, I32, F64}, matmul()))
	return m.Bytes()
}

// add adds n to a local.
func add(local uint32, n int32) []byte {
	return Code(LocalGet(local), I32Const(n), I32Add, LocalSet(local))
}

// while repeats parts while a local is below the local end, and increments it after each iteration.
func while(local, end uint32, parts ...[]byte) []byte {
	return Code(LoopVoid, Code(parts...), add(local, 1), LocalGet(local), LocalGet(end), i32LtU, BrIf(0), End)
}

// spin computes x = x*1664525 + 1013904223, n times.
func spin() []byte {
	return Code(while(1, 0, LocalGet(2), I32Const(1664525), i32Mul, I32Const(1013904223), I32Add, LocalSet(2)), LocalGet(2))
}

// sieve counts the primes below n; its locals are i, j, count.
func sieve() []byte {
	return Code(
		I32Const(0), I32Const(0), LocalGet(0), fill,
		I32Const(2), LocalSet(1),
		while(1, 0,
			LocalGet(1), i32Load8, I32Eqz, IfVoid,
			add(3, 1),
			LocalGet(1), LocalGet(1), I32Add, LocalSet(2),
			BlockVoid, LoopVoid,
			LocalGet(2), LocalGet(0), i32GeU, BrIf(1),
			LocalGet(2), I32Const(1), i32Set8,
			LocalGet(2), LocalGet(1), I32Add, LocalSet(2),
			Br(0), End, End,
			End),
		LocalGet(3))
}

// matmul multiplies two n×n matrices of doubles, n at most 160; the first holds i-j, the second i+j. Its locals are i,
// j, k, sum. It returns the last entry of the product.
func matmul() []byte {
	const second, product = 160 * 160 * 8, 2 * 160 * 160 * 8
	at := func(base int32, row, column uint32) []byte { // the address of an entry
		return Code(LocalGet(row), LocalGet(0), i32Mul, LocalGet(column), I32Add, I32Const(8), i32Mul, I32Const(base), I32Add)
	}
	nought := func(local uint32) []byte { return Code(I32Const(0), LocalSet(local)) }
	zero := Code([]byte{0x44}, make([]byte, 8), LocalSet(4))
	return Code(
		while(1, 0, nought(2), while(2, 0,
			at(0, 1, 2), LocalGet(1), LocalGet(2), i32Sub, f64Of, f64Store,
			at(second, 1, 2), LocalGet(1), LocalGet(2), I32Add, f64Of, f64Store)),
		nought(1),
		while(1, 0, nought(2), while(2, 0, zero, nought(3), while(3, 0,
			LocalGet(4), at(0, 1, 3), f64Load, at(second, 3, 2), f64Load, f64Mul, f64Add, LocalSet(4)),
			at(product, 1, 2), LocalGet(4), f64Store)),
		I32Const(product), LocalGet(0), LocalGet(0), i32Mul, I32Const(1), i32Sub, I32Const(8), i32Mul, I32Add, f64Load, i32Of)
}
