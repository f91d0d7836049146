package grant

import "strings"

// marks are the bindings of an address. Each is replaced by one character that no line may otherwise contain, so that
// separators inside a binding have no effect.
type marks []string

const (
	firstMark = '\uE000' // of a private-use range, which is never printed
	maxMarks  = 64
)

// markBindings replaces each binding of an address.
func markBindings(address *string, line int) (marks, error) {
	var m marks
	var b strings.Builder
	for rest := *address; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			break
		}
		inner, tail, closed := strings.Cut(after, "}")
		text := "{" + inner + "}"
		switch {
		case !closed:
			return nil, failf(line, "a { is not closed: write %%7B for the character")
		case !isBinding(text):
			return nil, unknownBinding(text, line)
		case len(m) == maxMarks:
			return nil, failf(line, "more than %d values of the call in one line", maxMarks)
		}
		b.WriteRune(firstMark + rune(len(m)))
		m, rest = append(m, text), tail
	}
	*address = b.String()
	return m, nil
}

func isMark(r rune) bool { return r >= firstMark && r < firstMark+maxMarks }

func (m marks) in(text string) bool { return strings.ContainsFunc(text, isMark) }

// segment reads a segment that is a mark; found is false if it contains none.
func (m marks) segment(text string, line int, forms ...form) (s segment, found bool, err error) {
	i := strings.IndexFunc(text, isMark)
	if i < 0 {
		return s, false, nil
	}
	for j, r := range text[i:] {
		if j == 0 {
			binding := m[r-firstMark]
			if len(text) != len(string(r)) {
				return s, true, notAlone(binding, line)
			}
			s, err = parseBoundSegment(binding, line, forms...)
		}
	}
	return s, true, err
}

// text replaces marks by other text.
func (m marks) text(labels []string, with string) ([]string, bool) {
	out := make([]string, len(labels))
	for i, l := range labels {
		out[i] = strings.Map(func(r rune) rune {
			if isMark(r) {
				return rune(with[0])
			}
			return r
		}, l)
	}
	return out, len(out) > 0
}
