// Package uritemplate parses URI templates of RFC 6570 and matches URIs against them. Expansion is left to clients.
//
//	t, err := uritemplate.Parse("notes://work/{id}{?page}")
//	t.Match("notes://work/7?page=2") // true
package uritemplate

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	maxTemplate     = 2 << 10 // bytes of a URI template
	maxTemplateVars = 32      // variables in one; the pattern grows with their square
	maxVarPrefix    = 10000   // RFC 6570 §2.4.1: a prefix is below it
	maxRepeat       = 1000    // the longest repetition that package regexp accepts
	maxPattern      = 4096    // limit of a template's size
)

// Template is a URI template of RFC 6570: levels 1 to 3, and the prefix and explode modifiers of level 4. It is safe
// for concurrent use.
//
// Matching is more lenient than expansion: a character that expansion would have encoded is accepted unencoded, unless
// it is a separator at that place. Time is linear in the URI.
type Template struct {
	text    string
	prefix  string // the literal before the first expression
	shape   string // text without the names of the variables
	pattern *regexp.Regexp
	values  func() *regexp.Regexp // pattern, with a group for each variable in alone
	alone   []string              // the variables of Names, in order
	vars    []variable
	size    int // of the pattern, in about the characters that it may match
}

// Parse parses a template. It need not begin with a scheme; see Scheme.
func Parse(text string) (*Template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("uri template: over %d bytes", maxTemplate)
	}
	t := &Template{text: text}
	var pattern, shape, values strings.Builder
	pattern.WriteString(`\A`)
	values.WriteString(`\A`)
	for rest := text; rest != ""; {
		literal, expression, tail, err := cut(rest)
		if err != nil {
			return nil, fmt.Errorf("uri template %q: %w", text, err)
		}
		if len(t.vars) == 0 {
			t.prefix += literal
		}
		pattern.WriteString(regexp.QuoteMeta(literal))
		values.WriteString(regexp.QuoteMeta(literal))
		shape.WriteString(literal)
		if expression != "" {
			before := pattern.Len()
			if err := t.expression(expression, &pattern, &shape); err != nil {
				return nil, fmt.Errorf("uri template %q: %w", text, err)
			}
			t.group(expression, pattern.String()[before:], &values)
		}
		rest = tail
	}
	pattern.WriteString(`\z`)
	values.WriteString(`\z`)
	t.shape = shape.String()
	var err error
	if t.pattern, err = regexp.Compile(pattern.String()); err != nil {
		return nil, fmt.Errorf("uri template %q: too large", text)
	}
	t.values = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(values.String()) })
	return t, nil
}

// group adds the pattern of an expression, as a group if it is one plain variable: {x} or {+x}.
func (t *Template) group(text, pattern string, values *strings.Builder) {
	name := strings.TrimPrefix(text, "+")
	if !isVarName(name) {
		values.WriteString(pattern)
		return
	}
	t.alone = append(t.alone, name)
	values.WriteString("(" + pattern + ")")
}

// Names returns the variables that Values extracts: those of plain expressions with a single variable, {x} or {+x}.
func (t *Template) Names() []string { return slices.Clone(t.alone) }

// Values returns the values of the variables in Names, decoded once; nil if uri does not match. If there are several
// readings, the leftmost variables take the most, and a name with two different values is left out.
func (t *Template) Values(uri string) map[string]string {
	groups := t.values().FindStringSubmatch(uri)
	if groups == nil {
		return nil
	}
	found, differ := map[string]string{}, map[string]bool{}
	for i, name := range t.alone {
		value, err := url.PathUnescape(groups[i+1])
		if before, twice := found[name]; err != nil || twice && before != value {
			differ[name] = true
		}
		found[name] = value
	}
	for name := range differ {
		delete(found, name)
	}
	return found
}

// cut splits text around its first expression, without the braces.
func cut(text string) (literal, expression, rest string, err error) {
	open := strings.IndexByte(text, '{')
	if open < 0 {
		open = len(text)
	}
	literal, rest = text[:open], text[open:]
	if i := strings.IndexAny(literal, "}<>\"\\^`| \x7f"); i >= 0 {
		return "", "", "", fmt.Errorf("%q cannot stand outside an expression", literal[i])
	}
	if i := strings.IndexFunc(literal, func(r rune) bool { return r < ' ' }); i >= 0 {
		return "", "", "", errors.New("holds a control character")
	}
	if rest == "" {
		return literal, "", "", nil
	}
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return "", "", "", errors.New("an expression is not closed")
	}
	if end == 1 {
		return "", "", "", errors.New("an expression is empty")
	}
	return literal, rest[1:end], rest[end+1:], nil
}

// Match reports whether uri could be an expansion of the template.
func (t *Template) Match(uri string) bool { return t.pattern.MatchString(uri) }

// Prefix returns the literal text before the first expression.
func (t *Template) Prefix() string { return t.prefix }

// Shape returns the text without the names of the variables: templates of equal shape match the same URIs.
func (t *Template) Shape() string { return t.shape }

// Scheme returns the scheme, if the template begins with a literal scheme and authority that no variable can extend.
func (t *Template) Scheme() (scheme string, ok bool) {
	scheme, rest, ok := strings.Cut(t.prefix, "://")
	if !ok || !isScheme(scheme) {
		return "", false
	}
	if strings.ContainsAny(rest, "/?#") || len(t.vars) == 0 {
		return scheme, true
	}
	next := t.text[len(t.prefix):] // a brace and the text after it
	return scheme, rest != "" && strings.IndexByte("/?#", next[1]) >= 0
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// isScheme reports whether s is a scheme of RFC 3986 §3.1.
func isScheme(s string) bool {
	return s != "" && strings.IndexByte(letters, s[0]) >= 0 && strings.Trim(s, letters+digits+"+-.") == ""
}
