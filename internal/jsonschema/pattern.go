package jsonschema

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/internal/jsonschema/regex"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// pattern is a regular expression of a schema. One that cannot be compiled has a nil re and is not enforced.
type pattern struct {
	source string
	re     *regex.Program
}

// String returns the source.
func (p *pattern) String() string { return p.source }

// MatchString implements the library's interface. The library never matches with it.
func (p *pattern) MatchString(s string) bool {
	ok, _, err := p.match([]byte(s), maxWork)
	return ok && err == nil
}

// match reports whether a text contains a match, and its cost out of the left steps. The error means that they were
// exceeded.
func (p *pattern) match(text []byte, left int) (ok bool, work int, err error) {
	if p.re == nil {
		return true, 0, nil
	}
	ok, steps, err := p.re.Match(text, left*stepsOfMatch)
	return ok, steps / stepsOfMatch, err
}

// stepsOfMatch is the number of match steps per validation step.
const stepsOfMatch = 4

// patterns compiles each pattern of one schema once.
type patterns struct {
	warn  func(string)
	known map[string]*pattern
}

// compile never fails, so that an invalid pattern does not disable the tool.
func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known := p.known[source]; known != nil {
		return known, nil
	}
	re, err := compilePattern(source)
	if err != nil && p.warn != nil {
		p.warn(fmt.Sprintf("pattern %q is not enforced: %v", sanitize.Cut(source, maxShown), err))
	}
	compiled := &pattern{source, re}
	p.known[source] = compiled
	return compiled, nil
}

// compilePattern compiles a pattern with ECMAScript's u flag, as JSON Schema recommends. Patterns valid only
// without the flag are accepted too.
func compilePattern(source string) (re *regex.Program, err error) {
	foreign, property := escapes(source)
	if foreign != "" {
		return nil, fmt.Errorf("%s means nothing in ECMAScript", foreign)
	}
	re, err = regex.Compile(source, true)
	if err != nil && !property {
		if lax, laxErr := regex.Compile(source, false); laxErr == nil {
			re, err = lax, nil
		}
	}
	return re, err
}

// escapes finds escapes that are invalid with ECMAScript's u flag but literal in the engine, such as \A, \Z or
// [[:alpha:]]. They come from other languages, and literal matching would refuse every value. property reports a
// \p, which requires the flag.
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
