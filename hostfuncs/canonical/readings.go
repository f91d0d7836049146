package canonical

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxDecoded is how often a path is decoded, about: a proxy, a server, a framework and a handler behind each other.
	maxDecoded = 4
	// MaxReadings bounds the readings of one path: nobody writes an address of more by chance.
	MaxReadings = 48
)

// Readings are the steps of a path as servers may read it, the plain reading first: decoded more than once, with overlong
// or full-width characters, cut at a hidden NUL, # or ?, with path parameters, blanks, dots and control characters taken
// off its steps, with a backslash or a hidden slash between steps, with two slashes for one, and without a stream of NTFS
// or a session of ASP.NET. Dot steps are resolved. A path is escaped and canonical. There are MaxReadings at most: as many
// may not be all.
func Readings(escaped string) [][]string {
	plain := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	for i, s := range plain {
		plain[i] = Decode(s)
	}
	all := [][]string{plain}
	if isPlain(escaped) {
		return all
	}
	add := func(steps []string) {
		if len(all) < MaxReadings && !slices.ContainsFunc(all, func(have []string) bool { return slices.Equal(have, steps) }) {
			all = append(all, steps)
		}
	}
	for _, text := range decodings(escaped) {
		for _, whole := range cuts(text) {
			add(stepsOf(whole, func(s string) string { return s }))
			add(stepsOf(whole, withoutParameter))
			add(stepsOf(whole, trimmed))
			add(stepsOf(whole, func(s string) string { return trimmed(withoutParameter(s)) }))
		}
	}
	return all
}

// Skeletons are the skeletons of those readings, of which some may be equal.
func Skeletons(escaped string) [][]string {
	all := Readings(escaped)
	for _, steps := range all {
		for i, s := range steps {
			steps[i] = shortName(skeleton(s, wildcards))
		}
	}
	return all
}

// isPlain reports whether every server reads a path alike.
func isPlain(escaped string) bool {
	if strings.Contains(escaped, "//") || strings.Contains(escaped, "./") || strings.HasSuffix(escaped, ".") {
		return false
	}
	return !strings.ContainsFunc(escaped, func(r rune) bool { return r >= 0x80 || r == '~' || !unreserved(byte(r)) && r != '/' })
}

// Meanings are the texts that a server may take a part of a query for, the plain one first: decoded more than once, with
// overlong or full-width characters.
func Meanings(escaped string) []string {
	escaped = strings.ReplaceAll(escaped, "+", "%20")
	all := []string{Decode(escaped)}
	for _, text := range decodings(escaped) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// decodings are a text and what becomes of it when it is decoded again and again, and written in its compatibility form,
// in any order.
func decodings(text string) []string {
	all := []string{lenient(text)}
	for at := 0; at < len(all) && len(all) < maxDecoded*2; at++ {
		for _, next := range []string{Compatible(all[at]), lenient(all[at])} {
			if !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return all
}

// Compatible is a text in its compatibility form, in which look-alikes are one (NFKC).
func Compatible(text string) string { return norm.NFKC.String(text) }

// cuts are a text as a whole, and as much of it as a reader sees that stops at a character which ended it elsewhere: at the
// first NUL, line end, byte that is no character, # or ?, for each of these.
func cuts(text string) []string {
	all := []string{text}
	var ends []rune
	for i, r := range text {
		if (r == '#' || r == '?' || unclear(r)) && !slices.Contains(ends, r) {
			ends, all = append(ends, r), append(all, text[:i])
		}
	}
	return all
}

// stepsOf splits at slashes of either kind. Of empty steps only a last one stays.
func stepsOf(text string, read func(string) string) []string {
	all := strings.FieldsFunc(text, isSlash)
	for i := range all {
		all[i] = read(all[i])
	}
	all = slices.DeleteFunc(resolveDots(all), func(s string) bool { return s == "" })
	if len(all) == 0 || text != "" && isSlash(rune(text[len(text)-1])) {
		all = append(all, "")
	}
	return all
}

// isSlash reports whether a character is a separator, or one that code pages have no better place for: the fraction slash,
// the division slash, the set minus, the yen and the won, and the like.
func isSlash(r rune) bool {
	return r == '/' || r == '\\' || r >= 0x80 && strings.ContainsRune("\u00A5\u2044\u20A9\u20E5\u2215\u2216\u29F5\u29F8\u29F9\uFE68\uFF0F\uFF3C", r)
}

func withoutParameter(step string) string {
	step, _, _ = strings.Cut(step, ";")
	return step
}

// trimmed is a step without what some file systems and servers take off it: a stream, unclear characters, and blanks and
// dots at its ends. A session of ASP.NET is no step.
func trimmed(step string) string {
	step = stripped(withoutStream(step))
	if isDots(step) {
		return strings.TrimSpace(step)
	}
	if step = strings.TrimRight(strings.TrimSpace(step), ". "); isSession(step) {
		return ""
	}
	return step
}

// withoutStream is a step without the stream of a file of NTFS, or of a folder: x::$DATA, x:$I30:$INDEX_ALLOCATION.
func withoutStream(step string) string {
	name, stream, _ := strings.Cut(step, ":")
	if strings.HasPrefix(stream, "$") || strings.Contains(stream, ":$") {
		return name
	}
	return step
}

// isSession reports whether a step is a session that ASP.NET without cookies takes out of a path: (S(x)), (A(x)F(y)).
func isSession(step string) bool {
	return strings.HasPrefix(step, "(") && strings.Contains(step[1:], "(") && strings.HasSuffix(step, "))")
}

// shortName is the skeleton of a step that may be the short name of another on Windows: ADMINI~1, ADB8C2~1 or ADMINI~1.TXT.
func shortName(skeleton string) string {
	name, rest, found := strings.Cut(skeleton, "~")
	number, extension, dot := strings.Cut(rest, ".")
	if !found || name == "" || len(name) > 6 || number == "" || strings.Trim(number, "0123456789") != "" {
		return skeleton
	}
	if len(name) > 4 && allHex(name[len(name)-4:]) {
		name = name[:len(name)-4]
	}
	if name += string(rune(anything)); dot {
		name += "." + extension + string(rune(anything))
	}
	return name
}

// stripped is a text without its unclear characters, and without bytes that are none.
func stripped(text string) string {
	return strings.Map(func(r rune) rune {
		if unclear(r) {
			return -1
		}
		return r
	}, text)
}

// isDots reports whether a step is one of . and .. but for blanks and unclear characters.
func isDots(step string) bool {
	bare := strings.ReplaceAll(stripped(step), " ", "")
	return bare == "." || bare == ".."
}

// lenient decodes escapes as readers do that take what no standard allows: %uXXXX, and UTF-8 in more bytes than it needs.
// What is no escape stays.
func lenient(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch rest := s[i:]; {
		case len(rest) >= 6 && rest[0] == '%' && (rest[1] == 'u' || rest[1] == 'U') && allHex(rest[2:6]):
			b = utf8.AppendRune(b, rune(unhex(rest[2]))<<12|rune(unhex(rest[3]))<<8|rune(unhex(rest[4]))<<4|rune(unhex(rest[5])))
			i += 5
		case len(rest) >= 3 && rest[0] == '%' && allHex(rest[1:3]):
			b = append(b, unhex(rest[1])<<4|unhex(rest[2]))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return shortest(b)
}

func allHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || !isHex(byte(r)) })
}

// shortest writes each character of overlong UTF-8 in as many bytes as it needs.
func shortest(b []byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if r, size := overlong(b[i:]); size > 0 {
			out = utf8.AppendRune(out, r)
			i += size - 1
			continue
		}
		out = append(out, b[i])
	}
	return string(out)
}

// overlong reads one character of two to six bytes; size is 0 if there is none, or if it is written as it should be.
func overlong(b []byte) (r rune, size int) {
	for n, lead := range []byte{2: 0xc0, 3: 0xe0, 4: 0xf0, 5: 0xf8, 6: 0xfc} {
		mask := byte(0xff) >> max(n+1, 3)
		if n < 2 || n > len(b) || b[0]&^mask != lead {
			continue
		}
		for r = rune(b[0] & mask); size < n-1; size++ {
			c := b[size+1]
			if r > 1<<24 || c&0xc0 != 0x80 {
				return 0, 0
			}
			r = r<<6 | rune(c&0x3f)
		}
		if utf8.ValidRune(r) && utf8.RuneLen(r) < n {
			return r, n
		}
		return 0, 0
	}
	return 0, 0
}
