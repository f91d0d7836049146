package jsonschema

// marks is a bit set of the evaluated members of one value. Nil records nothing.
type marks []uint64

func (e *evaluator) newMarks(v value) marks {
	e.spend(int(v.n) / 64)
	return make(marks, (v.n+63)/64+1)
}

func (m marks) set(i int) {
	if m != nil {
		m[i/64] |= 1 << (i % 64)
	}
}

func (m marks) setAll(n int) {
	for i := range min(n, 64*len(m)) {
		m.set(i)
	}
}

func (m marks) has(i int) bool { return m[i/64]&(1<<(i%64)) != 0 }

func (m marks) add(other marks) {
	for i := range m {
		m[i] |= other[i]
	}
}
