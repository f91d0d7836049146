package jsonschema

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// kind is the type of a JSON value. The bits form sets.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindInteger // only in sets; a value has kindNumber
	kindString
	kindArray
	kindObject
)

var kindNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

// names returns the words for a set of kinds.
func (k kind) names() []string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (k kind) String() string { return list(k.names()) }

// kindAt returns the kind of the valid value with first byte c.
func kindAt(c byte) kind {
	switch c {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindString
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	}
	return kindNumber
}

// value is one value of an indexed text. Its 32-bit offsets keep it at 32 bytes, which determines the memory of a
// validation.
type value struct {
	start, end       uint32 // the value's text
	keyStart, keyEnd uint32 // the key's text between its quotes, in an object
	first, n         uint32 // members or elements are at index.values[first:first+n]
	kind             kind
	escaped          bool // a string with escapes
	keyEscaped       bool
}

// index holds all values of one text. It may be reused for another text.
type index struct {
	raw    []byte
	values []value
	open   []value // members of the open containers
}

var errTooManyValues = errors.New("too many values")

// build indexes raw and returns its value. raw must be valid.
func (x *index) build(raw []byte) (value, error) {
	x.raw, x.values, x.open = raw, x.values[:0], x.open[:0]
	if len(raw) > math.MaxInt32 {
		return value{}, errTooManyValues
	}
	v, _, err := x.read(x.space(0))
	return v, err
}

func (x *index) space(i int) int {
	for x.raw[i] == ' ' || x.raw[i] == '\n' || x.raw[i] == '\r' || x.raw[i] == '\t' {
		i++
	}
	return i
}

// read indexes the value at i and returns its end.
func (x *index) read(i int) (value, int, error) {
	v := value{start: uint32(i), kind: kindAt(x.raw[i])}
	var err error
	switch v.kind {
	case kindObject, kindArray:
		i, err = x.container(&v, i+1)
	case kindString:
		i, v.escaped = x.text(i)
	default:
		for i < len(x.raw) && !isDelimiter(x.raw[i]) {
			i++
		}
	}
	v.end = uint32(i)
	return v, i, err
}

func isDelimiter(c byte) bool {
	return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// container reads members up to the closing bracket, then stores them contiguously.
func (x *index) container(v *value, i int) (int, error) {
	base := len(x.open)
	for i = x.space(i); x.raw[i] != ']' && x.raw[i] != '}'; i = x.space(i) {
		if x.raw[i] == ',' {
			i = x.space(i + 1)
		}
		m, end, err := x.member(v.kind, i)
		if err != nil {
			return 0, err
		}
		if len(x.values)+len(x.open) >= maxValues {
			return 0, errTooManyValues
		}
		x.open = append(x.open, m)
		i = end
	}
	v.first, v.n = uint32(len(x.values)), uint32(len(x.open)-base)
	x.values = append(x.values, x.open[base:]...)
	x.open = x.open[:base]
	return i + 1, nil
}

// member reads an element, or a key and its value.
func (x *index) member(in kind, i int) (value, int, error) {
	if in == kindArray {
		return x.read(i)
	}
	end, escaped := x.text(i)
	m, next, err := x.read(x.space(x.space(end) + 1))
	m.keyStart, m.keyEnd, m.keyEscaped = uint32(i+1), uint32(end-1), escaped
	return m, next, err
}

// text skips the string at i.
func (x *index) text(i int) (end int, escaped bool) {
	for i++; ; i++ {
		switch i = jsonraw.SkipPlain(x.raw, i); x.raw[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
}

// members returns the members or elements of v.
func (x *index) members(v value) []value { return x.values[v.first : v.first+v.n] }

// of returns the text of v.
func (x *index) of(v value) []byte { return x.raw[v.start:v.end] }

// key returns the decoded key of a member.
func (x *index) key(m value) []byte {
	return decoded(x.raw[m.keyStart-1:m.keyEnd+1], m.keyEscaped)
}

// string returns the decoded text of a string.
func (x *index) string(v value) []byte { return decoded(x.of(v), v.escaped) }

// decoded removes the quotes and decodes any escapes.
func decoded(quoted []byte, escaped bool) []byte {
	if !escaped {
		return quoted[1 : len(quoted)-1]
	}
	s, _ := jsonraw.String(quoted)
	return []byte(s)
}

// appendKey appends a canonical form of v, the same exactly for equal values: 1 equals 1.0, and member order is
// ignored.
func (x *index) appendKey(dst []byte, v value) []byte {
	switch v.kind {
	case kindString:
		return appendText(append(dst, 's'), x.string(v))
	case kindNumber:
		return append(appendKey(append(dst, 'n'), x.of(v)), ';')
	case kindArray:
		dst = append(dst, '[')
		for _, m := range x.members(v) {
			dst = x.appendKey(dst, m)
		}
		return append(dst, ']')
	case kindObject:
		dst = append(dst, '{')
		for _, m := range x.sorted(v) {
			dst = appendText(dst, m.key)
			dst = x.appendKey(dst, m.value)
		}
		return append(dst, '}')
	}
	return append(dst, x.raw[v.start]-'a'+'A') // T, F or N
}

// appendText appends a text prefixed by its length.
func appendText(dst, text []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}

// keyed is a member with its decoded key.
type keyed struct {
	key []byte
	value
}

func (x *index) sorted(v value) []keyed {
	members := make([]keyed, v.n)
	for i, m := range x.members(v) {
		members[i] = keyed{x.key(m), m}
	}
	slices.SortStableFunc(members, func(a, b keyed) int { return bytes.Compare(a.key, b.key) })
	return members
}
