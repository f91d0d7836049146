package wasmtest

// Tag defines a tag and returns its index.
func (m *Module) Tag(params ...byte) uint32 {
	return m.tags.add([]byte{0}, U32(m.Type(params, nil)))
}

// ThrowRef throws the exception of a reference.
var ThrowRef = []byte{0x0a}

// Throw throws an exception of a tag.
func Throw(tag uint32) []byte { return op(0x08, tag) }

// TryTable opens a block of this encoded type with clauses.
func TryTable(typ byte, clauses ...[]byte) []byte {
	return Code([]byte{0x1f, typ}, U32(uint32(len(clauses))), Code(clauses...))
}

// Catch is a clause for a tag. The label is outside of the try_table.
func Catch(tag, label uint32) []byte { return append(op(0, tag), U32(label)...) }

// CatchRef is Catch with a reference to the exception.
func CatchRef(tag, label uint32) []byte { return append(op(1, tag), U32(label)...) }

// CatchAll is a clause for all exceptions.
func CatchAll(label uint32) []byte { return op(2, label) }

// CatchAllRef is CatchAll with a reference to the exception.
func CatchAllRef(label uint32) []byte { return op(3, label) }
