package jsonraw

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// DuplicateKey searches all of raw, which must be valid JSON, for an object with two equal keys. Parsers disagree
// on which one counts, so a check may see another value than its user. path is the JSON Pointer of the second key.
// If there is none, it returns "" and false.
func DuplicateKey(raw []byte) (path string, found bool) { return duplicate(raw, false) }

// AmbiguousKey is DuplicateKey for texts that may reach a case-insensitive parser, such as encoding/json. Keys are
// equal under Unicode simple folding, where U+017F equals s and U+212A equals k. A key with a NUL is always
// ambiguous, as C code ends the key there.
func AmbiguousKey(raw []byte) (path string, found bool) { return duplicate(raw, true) }

func duplicate(raw []byte, fold bool) (path string, found bool) {
	if len(raw) == 0 {
		return "", false
	}
	w := walks.Get().(*duplicates)
	defer w.release()
	w.b, w.fold = raw, fold
	w.value(0, 0)
	return w.pointer()
}

// walks are pooled, as every call and every result is walked.
var walks = sync.Pool{New: func() any { return &duplicates{keys: make([][]byte, 0, 2*fewKeys)} }}

// release drops the references to the text. A walk whose stack a deep text made large is not pooled: clearing it would
// cost every later walk.
func (w *duplicates) release() {
	if cap(w.keys) > maxPooledKeys {
		return
	}
	clear(w.keys[:cap(w.keys)])
	*w = duplicates{keys: w.keys[:0]}
	walks.Put(w)
}

// maxPooledKeys is the maximum stack of a pooled walk, in keys: 1.5 KiB.
const maxPooledKeys = 4 * fewKeys

// fewKeys is the number of keys per object up to which comparing is cheaper than hashing.
const fewKeys = 16

// duplicates walks a text once. The keys of all open objects share one stack.
type duplicates struct {
	b     []byte
	keys  [][]byte
	fold  bool // ignore case
	found bool
	trail []string // path to the duplicate, innermost first
}

func (w *duplicates) pointer() (string, bool) {
	if !w.found {
		return "", false
	}
	var p strings.Builder
	for i := len(w.trail) - 1; i >= 0; i-- {
		p.WriteByte('/')
		p.WriteString(EscapePointer(w.trail[i]))
	}
	return p.String(), true
}

// EscapePointer escapes a key as one token of a JSON Pointer (RFC 6901).
func EscapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// value walks the value at b[i]. It returns the offset after it, or -1 to stop.
func (w *duplicates) value(i, depth int) int {
	i = skipSpace(w.b, i)
	if i >= len(w.b) || depth > MaxDepth {
		return -1
	}
	switch w.b[i] {
	case '{':
		return w.object(i+1, depth)
	case '[':
		return w.array(i+1, depth)
	}
	end, p := scanValue(w.b, i, depth)
	if p != fine {
		return -1
	}
	return end
}

func (w *duplicates) array(i, depth int) int {
	for n := 0; ; n++ {
		if i = skipSpace(w.b, i); i < len(w.b) && w.b[i] == ']' && n == 0 {
			return i + 1
		}
		if i = w.value(i, depth+1); i < 0 {
			return w.leave(strconv.Itoa(n))
		}
		if i = skipSpace(w.b, i); i >= len(w.b) || w.b[i] != ',' {
			return w.close(i, ']')
		}
		i++
	}
}

func (w *duplicates) object(i, depth int) int {
	base := len(w.keys)
	defer func() { w.keys = w.keys[:base] }()
	var many map[string]struct{}
	for n := 0; ; n++ {
		i = skipSpace(w.b, i)
		if i < len(w.b) && w.b[i] == '}' && n == 0 {
			return i + 1
		}
		end, p := scanKey(w.b, i)
		if p != fine {
			return -1
		}
		text := w.b[i+1 : i+1+bytes.LastIndexByte(w.b[i+1:end], '"')]
		key := decoded(text)
		if w.again(base, &many, key) || w.fold && bytes.IndexByte(key, 0) >= 0 {
			w.found = true
			return w.leave(string(key))
		}
		if i = w.value(end, depth+1); i < 0 {
			return w.leave(string(key))
		}
		if i = skipSpace(w.b, i); i >= len(w.b) || w.b[i] != ',' {
			return w.close(i, '}')
		}
		i++
	}
}

// leave records one step of the path to a duplicate.
func (w *duplicates) leave(step string) int {
	if w.found {
		w.trail = append(w.trail, step)
	}
	return -1
}

func (w *duplicates) close(i int, closing byte) int {
	if i >= len(w.b) || w.b[i] != closing {
		return -1
	}
	return i + 1
}

// again reports whether key is already among the keys of the object that starts at base, and adds it. The first few
// keys are compared, later ones hashed, so that wide objects do not take quadratic time.
func (w *duplicates) again(base int, many *map[string]struct{}, key []byte) bool {
	for _, k := range w.keys[base:] {
		if bytes.Equal(k, key) || w.fold && bytes.EqualFold(k, key) {
			return true
		}
	}
	if len(w.keys) < base+fewKeys {
		w.keys = append(w.keys, key)
		return false
	}
	if *many == nil {
		*many = make(map[string]struct{}, fewKeys)
	}
	text := string(key)
	if w.fold {
		text = Fold(text)
	}
	_, again := (*many)[text]
	(*many)[text] = struct{}{}
	return again
}

// Fold returns a canonical form for case-insensitive comparison, equal for texts equal under strings.EqualFold.
func Fold(s string) string { return strings.Map(foldRune, s) }

// foldRune returns the smallest rune in the folding orbit of r.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
