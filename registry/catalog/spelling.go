package catalog

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

var escape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9a-fA-F]{2}`) })

// spelling returns a normal form of a URI, equal for all spellings that some plugin might treat as the same resource:
// escapes are decoded however often they were applied, scheme and authority are in lower case, dot segments, empty
// segments, a trailing slash and the fragment are removed. It is for hiding only, where a false match does no harm.
func spelling(uri string) string {
	for range 8 { // nested escapes
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

// trimSegments strips blanks, control characters and parameters from path segments, as servers do.
func trimSegments(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		s, _, _ = strings.Cut(s, ";")
		segments[i] = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	}
	return strings.Join(segments, "/")
}

// hides reports whether one of the operator's hide lines names a URI, in any spelling.
func hides(lines []string, uri string) bool {
	for _, line := range lines {
		if line == uri || spelling(line) == spelling(uri) {
			return true
		}
	}
	return false
}
