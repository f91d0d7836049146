package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
)

// pattern is a regular expression of a schema. One that cannot be compiled has no re and is
// not enforced.
type pattern struct {
	source string
	re     *regexp2.Regexp
}

// String is the source.
func (p *pattern) String() string { return p.source }

// MatchString is for the library, which keeps patterns but never matches with ours.
func (p *pattern) MatchString(s string) bool {
	ok, err := p.match(s)
	return ok && err == nil
}

// match reports whether s contains a match. The error is a time limit that was hit.
func (p *pattern) match(s string) (bool, error) {
	if p.re == nil {
		return true, nil
	}
	return p.re.MatchString(s)
}

// patterns compiles each pattern of one schema once.
type patterns struct {
	warn  func(string)
	known map[string]*pattern
}

// compile never fails: that is how a bad pattern does not cost the tool.
func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known := p.known[source]; known != nil {
		return known, nil
	}
	re, err := compilePattern(source)
	if err != nil && p.warn != nil {
		p.warn(fmt.Sprintf("pattern %q is not enforced: %v", clean.Cut(source, maxShown), err))
	}
	compiled := &pattern{source, re}
	p.known[source] = compiled
	return compiled, nil
}

// compilePattern reads a pattern as JSON Schema asks, with ECMAScript's u flag. Some patterns in
// use are only valid without it, and are taken too.
func compilePattern(source string) (re *regexp2.Regexp, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the library's, on a stranger's input
			re, err = nil, fmt.Errorf("%v", fault)
		}
	}()
	if len(source) > maxPatternBytes {
		return nil, errors.New("it is too long")
	}
	foreign, property := escapes(source)
	if foreign != "" {
		return nil, fmt.Errorf("%s means nothing in ECMAScript", foreign)
	}
	re, err = regexp2.Compile(source, regexp2.ECMAScript, regexp2.Unicode)
	if err != nil && !property {
		if lax, laxErr := regexp2.Compile(source, regexp2.ECMAScript); laxErr == nil {
			re, err = lax, nil
		}
	}
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = maxMatchTime
	return re, nil
}

// escapes looks for what ECMAScript's u flag refuses and the engine takes literally, such as \A,
// \Z or [[:alpha:]]: the author meant something of another language, and enforcing the letters
// would refuse every value. property tells of a \p, which has its meaning only with the flag.
func escapes(source string) (foreign string, property bool) {
	if i := strings.Index(source, "[[:"); i >= 0 {
		return "[[:", false
	}
	for i := 0; i+1 < len(source); i++ {
		if source[i] != '\\' {
			continue
		}
		i++
		switch c := source[i]; c {
		case 'p', 'P':
			property = true
		case 'b', 'B', 'd', 'D', 'w', 'W', 's', 'S', 't', 'r', 'n', 'f', 'v', 'c', 'x', 'u', 'k':
		default:
			if 'a' <= c|' ' && c|' ' <= 'z' {
				return source[i-1 : i+1], property
			}
		}
	}
	return "", property
}
