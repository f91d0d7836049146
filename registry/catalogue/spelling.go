package catalogue

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

var escape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9a-fA-F]{2}`) })

// spelling is what all spellings of a URI have in common that some plugin might take for one: escapes are decoded however
// often they were made, scheme and authority are in small letters, dot segments, empty segments, a slash at the end and a
// fragment are gone. It is for hiding only, where taking two for one is no harm.
func spelling(uri string) string {
	for range 8 { // escapes of escapes
		plain := escape().ReplaceAllStringFunc(uri, func(e string) string {
			n, _ := strconv.ParseUint(e[1:], 16, 8)
			return string([]byte{byte(n)})
		})
		if plain == uri {
			break
		}
		uri = plain
	}
	uri, _, _ = strings.Cut(norm.NFC.String(uri), "#")
	rest, query, _ := strings.Cut(uri, "?")
	scheme, rest, _ := strings.Cut(rest, ":")
	rest = strings.ReplaceAll(rest, `\`, "/")
	authority := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, rest, _ = strings.Cut(after, "/")
		_, host, found := strings.Cut(authority, "@")
		if found {
			authority = host
		}
		authority = "//" + strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(authority), ":"), ".")
	}
	return strings.ToLower(scheme) + ":" + authority + path.Clean("/"+trimSegments(rest)) + "?" + query
}

// trimSegments takes blanks and control characters off the ends of segments, and parameters, which servers strip.
func trimSegments(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		s, _, _ = strings.Cut(s, ";")
		segments[i] = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	}
	return strings.Join(segments, "/")
}

// hides reports whether one of the operator's hide lines names a URI, in whatever spelling.
func hides(lines []string, uri string) bool {
	for _, line := range lines {
		if line == uri || spelling(line) == spelling(uri) {
			return true
		}
	}
	return false
}
