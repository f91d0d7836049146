package urlnorm

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxDecoded is the number of rounds in which a path may be decoded: by a proxy, a server, a framework and a
	// handler in sequence.
	maxDecoded = 4
	// MaxReadings bounds the readings of one path. No ordinary address has more.
	MaxReadings = 48
)

// Readings returns the segments of a path in every way that a server may read it, the plain reading first. Variants
// are: decoded more than once, with overlong or full-width characters, cut at a hidden NUL, # or ?, without path
// parameters, blanks, dots and control characters in segments, with a backslash or an escaped slash as a separator,
// with double slashes merged, and without an NTFS stream or an ASP.NET session. Dot segments are resolved. The path
// must be escaped and canonical. At most MaxReadings are returned: a result of that length may be incomplete.
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

// Skeletons returns the skeletons of those readings. Some may be equal.
func Skeletons(escaped string) [][]string {
	all := Readings(escaped)
	for _, steps := range all {
		for i, s := range steps {
			steps[i] = shortName(skeleton(s, wildcards))
		}
	}
	return all
}

// isPlain reports whether every server reads a path in the same way.
func isPlain(escaped string) bool {
	if strings.Contains(escaped, "//") || strings.Contains(escaped, "./") || strings.HasSuffix(escaped, ".") {
		return false
	}
	return !strings.ContainsFunc(escaped, func(r rune) bool { return r >= 0x80 || r == '~' || !unreserved(byte(r)) && r != '/' })
}

// meanings returns the texts that a server may decode a part of a query to, the plain one first: decoded more than
// once, with overlong or full-width characters.
func meanings(escaped string) []string {
	escaped = strings.ReplaceAll(escaped, "+", "%20")
	all := []string{Decode(escaped)}
	for _, text := range decodings(escaped) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// decodings returns a text and the results of decoding it repeatedly and converting it to compatibility form, in any
// order.
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

// Compatible returns a text in compatibility form (NFKC), in which look-alikes are equal.
func Compatible(text string) string { return norm.NFKC.String(text) }

// cuts returns a text whole, and truncated at the first NUL, line end, invalid byte, # or ?, for each of these: some
// readers stop there.
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

// stepsOf splits at slashes of either kind. Empty segments are dropped except at the end.
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

// isSlash reports whether a character is a separator, or one that code pages map to a slash or backslash: the
// fraction slash, the division slash, the set minus, the yen and the won, and the like.
func isSlash(r rune) bool {
	return r == '/' || r == '\\' || r >= 0x80 && strings.ContainsRune("\u00A5\u2044\u20A9\u20E5\u2215\u2216\u29F5\u29F8\u29F9\uFE68\uFF0F\uFF3C", r)
}

func withoutParameter(step string) string {
	step, _, _ = strings.Cut(step, ";")
	return step
}

// trimmed returns a segment without the parts that some file systems and servers remove: a stream, unclear
// characters, and blanks and dots at its ends. A session of ASP.NET yields an empty segment.
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

// withoutStream returns a segment without the stream of an NTFS file or folder: x::$DATA, x:$I30:$INDEX_ALLOCATION.
func withoutStream(step string) string {
	name, stream, _ := strings.Cut(step, ":")
	if strings.HasPrefix(stream, "$") || strings.Contains(stream, ":$") {
		return name
	}
	return step
}

// isSession reports whether a segment is a session that ASP.NET without cookies removes from a path: (S(x)),
// (A(x)F(y)).
func isSession(step string) bool {
	return strings.HasPrefix(step, "(") && strings.Contains(step[1:], "(") && strings.HasSuffix(step, "))")
}

// shortName returns the skeleton of a segment that may be a Windows short name: ADMINI~1, ADB8C2~1 or ADMINI~1.TXT.
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

// stripped returns a text without unclear characters and invalid bytes.
func stripped(text string) string {
	return strings.Map(func(r rune) rune {
		if unclear(r) {
			return -1
		}
		return r
	}, text)
}

// isDots reports whether a segment is . or .. apart from blanks and unclear characters.
func isDots(step string) bool {
	bare := strings.ReplaceAll(stripped(step), " ", "")
	return bare == "." || bare == ".."
}

// lenient decodes the nonstandard escapes that some readers accept: %uXXXX and overlong UTF-8. Invalid escapes stay.
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

// shortest rewrites overlong UTF-8 in its shortest form.
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

// overlong decodes one character of two to six bytes. size is 0 if there is none, or if it is in its shortest form.
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
