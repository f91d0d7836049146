package sanitize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxDepth limits the walk. Deeper values are left alone, and parsers refuse them.
const maxDepth = 512

// Shape selects values in a JSON text that are not cleaned. A nil Shape selects none.
type Shape struct {
	Leave    bool              // leave this value and all its parts
	Members  map[string]*Shape // by member of an object; other members are cleaned
	Elements *Shape            // for the elements of an array
}

// Leave is the Shape of a value that is not cleaned.
var Leave = &Shape{Leave: true}

// JSON cleans the strings of a valid JSON value, including member names, except those selected by shape. A member
// whose cleaned name is empty or equals another is removed. Clean parts stay byte for byte. It returns the number
// of removed characters.
func JSON(raw json.RawMessage, shape *Shape) (json.RawMessage, int) {
	if !suspectJSON(raw) {
		return raw, 0
	}
	w := walker{b: raw}
	w.value(w.space(0), shape, 0)
	if w.removed == 0 {
		return raw, 0
	}
	return w.edited(), w.removed
}

// Count returns the number of characters that JSON would remove.
func Count(raw json.RawMessage) int {
	if !suspectJSON(raw) {
		return 0
	}
	w := walker{b: raw}
	w.value(w.space(0), nil, 0)
	return w.removed
}

// suspectJSON is suspect for JSON text, which may have escapes.
func suspectJSON(raw []byte) bool {
	if bytes.IndexByte(raw, 0x7f) >= 0 {
		return true
	}
	for i := jsonraw.SkipPlain(raw, 0); i < len(raw); i = jsonraw.SkipPlain(raw, i+1) {
		switch c := raw[i]; {
		case c >= utf8.RuneSelf:
			return true
		case c == '\\' && i+1 < len(raw) && (raw[i+1] == 'u' || raw[i+1] == 'b' || raw[i+1] == 'f'):
			return true
		}
	}
	return false
}

// walker walks a JSON text once and collects edits.
type walker struct {
	b       []byte
	edits   []edit
	members []member // of all open objects
	removed int
	steps   int // visited bytes, counted for a test
}

// edit replaces b[start:end] by text.
type edit struct {
	start, end int
	text       []byte
}

// member is the position of an object member, with its colon and without its comma.
type member struct {
	start, end int
	key        string // cleaned
	changed    bool
}

func (w *walker) space(i int) int {
	for i < len(w.b) && (w.b[i] == ' ' || w.b[i] == '\t' || w.b[i] == '\n' || w.b[i] == '\r') {
		i++
		w.steps++
	}
	return i
}

// value walks the value at i and returns its end.
func (w *walker) value(i int, shape *Shape, depth int) int {
	switch {
	case i >= len(w.b):
		return i
	case shape != nil && shape.Leave || depth > maxDepth:
		return w.skip(i)
	case w.b[i] == '"':
		end := w.text(i)
		if text, n := w.cleaned(i, end); n > 0 {
			w.edits = append(w.edits, edit{i, end, jsonraw.AppendString(nil, text)})
			w.removed += n
		}
		return end
	case w.b[i] == '{':
		return w.object(i+1, shape, depth)
	case w.b[i] == '[':
		return w.array(i+1, shape, depth)
	}
	return w.skip(i)
}

// text walks the string at i and returns its end.
func (w *walker) text(i int) int {
	for i++; i < len(w.b); i++ {
		w.steps++
		switch w.b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(w.b)
}

// cleaned returns the cleaned string at b[i:end] and the number of removed characters.
func (w *walker) cleaned(i, end int) (string, int) {
	w.steps += end - i
	if !suspectJSON(w.b[i:end]) {
		return "", 0
	}
	s, ok := jsonraw.String(w.b[i:end])
	if !ok {
		return "", 0
	}
	text, n := Text(s)
	if n == 0 && loneSurrogate(w.b[i:end]) {
		n = 1 // decoded as U+FFFD
	}
	return text, n
}

// loneSurrogate reports whether a JSON string has an unpaired surrogate escape, which strict parsers refuse.
func loneSurrogate(s []byte) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		first, ok := escaped(s[i:])
		switch {
		case !ok:
			i++ // single-character escape
		case !utf16.IsSurrogate(first):
			i += 5
		default:
			if second, ok := escaped(s[i+6:]); !ok || utf16.DecodeRune(first, second) == unicode.ReplacementChar {
				return true
			}
			i += 11
		}
	}
	return false
}

// escaped returns the code unit of the escape \uXXXX at the start of s.
func escaped(s []byte) (unit rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// skip returns the end of the value at i.
func (w *walker) skip(i int) int {
	for open := 0; i < len(w.b); {
		w.steps++
		switch w.b[i] {
		case '"':
			i = w.text(i)
		case '{', '[':
			open++
			i++
		case '}', ']':
			open--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i = w.literal(i)
		}
		if open <= 0 {
			return i
		}
	}
	return len(w.b)
}

// literal returns the end of the number or word at i.
func (w *walker) literal(i int) int {
	for i++; i < len(w.b); i++ {
		w.steps++
		switch w.b[i] {
		case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

func (w *walker) array(i int, shape *Shape, depth int) int {
	var elements *Shape
	if shape != nil {
		elements = shape.Elements
	}
	for i = w.space(i); i < len(w.b) && w.b[i] != ']'; i = w.space(i) {
		if w.b[i] == ',' {
			i++
			continue
		}
		i = w.value(i, elements, depth+1)
	}
	return min(i+1, len(w.b))
}

func (w *walker) object(i int, shape *Shape, depth int) int {
	base, changed := len(w.members), false
	for i = w.space(i); i < len(w.b) && w.b[i] != '}'; i = w.space(i) {
		if w.b[i] != '"' {
			i++
			continue
		}
		m := member{start: i}
		i = w.key(&m, i)
		i = w.space(i)
		if i < len(w.b) && w.b[i] == ':' {
			i = w.space(i + 1)
		}
		i = w.value(i, shape.member(w.b[m.start:]), depth+1)
		m.end = i
		w.members = append(w.members, m)
		changed = changed || m.changed
	}
	if changed {
		w.settle(w.members[base:])
	}
	w.members = w.members[:base]
	return min(i+1, len(w.b))
}

// key reads a member name and returns its end.
func (w *walker) key(m *member, i int) int {
	end := w.text(i)
	text, n := w.cleaned(i, end)
	if n > 0 {
		m.key, m.changed = text, true
		w.removed += n
		w.edits = append(w.edits, edit{i, end, jsonraw.AppendString(nil, text)})
	}
	return end
}

// member returns the Shape for the value of a member, given the text from its name on.
func (s *Shape) member(text []byte) *Shape {
	if s == nil || len(s.Members) == 0 {
		return nil
	}
	end := (&walker{b: text}).text(0)
	key, _ := jsonraw.String(text[:end])
	return s.Members[key]
}

// settle removes members with empty or duplicate cleaned names.
func (w *walker) settle(members []member) {
	taken := map[string]bool{"": true}
	for _, m := range members {
		if !m.changed {
			key, _ := jsonraw.String(w.b[m.start:(&walker{b: w.b}).text(m.start)])
			taken[jsonraw.Fold(key)] = true
		}
	}
	first := true // no previous member is kept
	for i, m := range members {
		if key := jsonraw.Fold(m.key); !m.changed || !taken[key] {
			taken[key] = true
			first = false
			continue
		}
		switch {
		case !first:
			w.edits = append(w.edits, edit{members[i-1].end, m.end, nil})
		case i+1 < len(members):
			w.edits = append(w.edits, edit{m.start, members[i+1].start, nil})
		default:
			w.edits = append(w.edits, edit{m.start, m.end, nil})
		}
	}
}

// edited applies all edits. An edit within another is dropped with the removed text.
func (w *walker) edited() json.RawMessage {
	slices.SortStableFunc(w.edits, func(a, b edit) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	out := make([]byte, 0, len(w.b))
	copied := 0
	for _, e := range w.edits {
		if e.start < copied {
			continue
		}
		out = append(append(out, w.b[copied:e.start]...), e.text...)
		copied = e.end
	}
	return append(out, w.b[copied:]...)
}

// Members cleans the texts in the given members of an object and returns the number of removed characters.
func Members(o *jsonraw.Object, members ...string) (removed int) {
	for _, key := range members {
		if raw := o.Get(key); raw != nil {
			if text, n := JSON(raw, nil); n > 0 {
				o.Set(key, text)
				removed += n
			}
		}
	}
	return removed
}
