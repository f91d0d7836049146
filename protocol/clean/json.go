package clean

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf16"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// maxDepth bounds the walk; deeper values stay as they are, and readers refuse them.
const maxDepth = 512

// Shape says which values in a JSON text stay as they are, by their places. A nil Shape leaves none.
type Shape struct {
	Leave    bool              // this value stays, and all in it
	Members  map[string]*Shape // of the values of an object; those of other members are cleaned
	Elements *Shape            // of the elements of an array
}

// Leave is the Shape of a value that stays as it is.
var Leave = &Shape{Leave: true}

// JSON cleans the strings of a valid JSON value but those that shape leaves, also the names of members. A member whose
// name becomes that of another one, or empty, is taken out. What needs no cleaning stays as it was written.
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

// Count returns how many characters JSON would take out.
func Count(raw json.RawMessage) int {
	if !suspectJSON(raw) {
		return 0
	}
	w := walker{b: raw}
	w.value(w.space(0), nil, 0)
	return w.removed
}

// suspectJSON is suspect for strings that are written with escapes.
func suspectJSON(raw []byte) bool {
	for i, c := range raw {
		switch {
		case c >= 0x7f:
			return true
		case c == '\\' && i+1 < len(raw) && (raw[i+1] == 'u' || raw[i+1] == 'b' || raw[i+1] == 'f'):
			return true
		}
	}
	return false
}

// walker goes through a JSON text once, from its beginning to its end, and notes what is to be changed.
type walker struct {
	b       []byte
	edits   []edit
	members []member // of all objects that are open
	removed int
	steps   int // bytes looked at, for the test that counts them
}

// edit puts text in the place of b[start:end].
type edit struct {
	start, end int
	text       []byte
}

// member is where a member of an object stands, with the colon and without the comma.
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

// value walks the value at i and returns the place behind it.
func (w *walker) value(i int, shape *Shape, depth int) int {
	switch {
	case i >= len(w.b):
		return i
	case shape != nil && shape.Leave || depth > maxDepth:
		return w.skip(i)
	case w.b[i] == '"':
		end := w.text(i)
		if text, n := w.cleaned(i, end); n > 0 {
			w.edits = append(w.edits, edit{i, end, rawjson.AppendString(nil, text)})
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

// text returns the place behind the string at i.
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

// cleaned is the string at b[i:end] without what goes, and how much that is.
func (w *walker) cleaned(i, end int) (string, int) {
	w.steps += end - i
	if !suspectJSON(w.b[i:end]) {
		return "", 0
	}
	s, ok := rawjson.String(w.b[i:end])
	if !ok {
		return "", 0
	}
	text, n := Text(s)
	if n == 0 && loneSurrogate(w.b[i:end]) {
		n = 1 // which is U+FFFD by now
	}
	return text, n
}

// loneSurrogate reports whether a JSON string has the escape of half a character, which strict readers refuse.
func loneSurrogate(s []byte) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		first, ok := escaped(s[i:])
		switch {
		case !ok:
			i++ // an escape of one letter
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

// escaped is the code unit of an escape \uXXXX that s begins with.
func escaped(s []byte) (unit rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// skip returns the place behind the value at i, whatever is in it.
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

// literal returns the place behind the number or word at i.
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

// key reads the name of a member and returns the place behind it.
func (w *walker) key(m *member, i int) int {
	end := w.text(i)
	text, n := w.cleaned(i, end)
	if n > 0 {
		m.key, m.changed = text, true
		w.removed += n
		w.edits = append(w.edits, edit{i, end, rawjson.AppendString(nil, text)})
	}
	return end
}

// member is the Shape of the value of the member that begins with this text.
func (s *Shape) member(text []byte) *Shape {
	if s == nil || len(s.Members) == 0 {
		return nil
	}
	end := (&walker{b: text}).text(0)
	key, _ := rawjson.String(text[:end])
	return s.Members[key]
}

// settle takes members out whose cleaned names are empty, or those of others: they hid as these.
func (w *walker) settle(members []member) {
	taken := map[string]bool{"": true}
	for _, m := range members {
		if !m.changed {
			key, _ := rawjson.String(w.b[m.start:(&walker{b: w.b}).text(m.start)])
			taken[rawjson.Fold(key)] = true
		}
	}
	first := true // no member before this one stays
	for i, m := range members {
		if key := rawjson.Fold(m.key); !m.changed || !taken[key] {
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

// edited is the text with all edits. One that lies within another is part of what went.
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

// Members takes out of the texts in some members of an object what nobody sees, and returns how many characters.
func Members(o *rawjson.Object, members ...string) (removed int) {
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
