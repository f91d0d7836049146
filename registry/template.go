package registry

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxTemplate     = 2 << 10 // bytes of a URI template
	maxTemplateVars = 32      // variables in one; the pattern grows with their square
	maxVarPrefix    = 10000   // RFC 6570 §2.4.1: a prefix is below it
	maxRepeat       = 1000    // the longest repetition that package regexp takes
	maxPattern      = 4096    // how large all the patterns' repetitions may make a template
)

// URITemplate is a URI template of RFC 6570, levels 1 to 3 and of level 4 the prefix and explode
// modifiers. It finds out whether a URI could be an expansion of it. Safe for concurrent use.
//
// Matching is kinder than expansion: a character that expansion would have encoded is taken as it
// is, as long as it separates nothing at that place. Time is linear in the URI.
type URITemplate struct {
	text    string
	prefix  string // the literal before the first expression
	shape   string // text without the variables' names
	pattern *regexp.Regexp
	vars    []templateVar
	size    int // of the pattern, in about characters that it may match
}

// templateVar is one variable specification: {name:max} or {name*}.
type templateVar struct {
	name    string
	max     int // characters; 0 = any
	explode bool
}

// operator is a row of the table in RFC 6570, appendix A.
type operator struct {
	first, sep string
	named      bool
	reserved   bool
}

func operatorOf(c byte) (operator, bool) {
	switch c {
	case '+':
		return operator{sep: ",", reserved: true}, true
	case '#':
		return operator{first: "#", sep: ",", reserved: true}, true
	case '.':
		return operator{first: ".", sep: "."}, true
	case '/':
		return operator{first: "/", sep: "/"}, true
	case ';':
		return operator{first: ";", sep: ";", named: true}, true
	case '?':
		return operator{first: "?", sep: "&", named: true}, true
	case '&':
		return operator{first: "&", sep: "&", named: true}, true
	}
	return operator{sep: ","}, false
}

// ParseURITemplate reads a template. It need not begin with a scheme.
func ParseURITemplate(text string) (*URITemplate, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("uri template: over %d bytes", maxTemplate)
	}
	t := &URITemplate{text: text}
	var pattern, shape strings.Builder
	pattern.WriteString(`\A`)
	for rest := text; rest != ""; {
		literal, expression, tail, err := cut(rest)
		if err != nil {
			return nil, fmt.Errorf("uri template %q: %w", text, err)
		}
		if len(t.vars) == 0 {
			t.prefix += literal
		}
		pattern.WriteString(regexp.QuoteMeta(literal))
		shape.WriteString(literal)
		if expression != "" {
			if err := t.expression(expression, &pattern, &shape); err != nil {
				return nil, fmt.Errorf("uri template %q: %w", text, err)
			}
		}
		rest = tail
	}
	pattern.WriteString(`\z`)
	t.shape = shape.String()
	var err error
	if t.pattern, err = regexp.Compile(pattern.String()); err != nil {
		return nil, fmt.Errorf("uri template %q: too large", text)
	}
	return t, nil
}

// cut splits text after its first expression, whose braces it takes off.
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

// expression adds what one {…} matches to the pattern.
func (t *URITemplate) expression(text string, pattern, shape *strings.Builder) error {
	op, given := operatorOf(text[0])
	mark := ""
	if given {
		mark, text = text[:1], text[1:]
	}
	specs := strings.Split(text, ",")
	if len(t.vars)+len(specs) > maxTemplateVars {
		return fmt.Errorf("over %d variables", maxTemplateVars)
	}
	shape.WriteString("{" + mark)
	var items []string
	size := 0
	for _, spec := range specs {
		v, err := parseVar(spec)
		if err != nil {
			return err
		}
		t.vars = append(t.vars, v)
		items = append(items, op.item(v))
		size += 1 + min(v.max, maxRepeat)
		shape.WriteString(v.shape(op) + ",")
	}
	if t.size += size * len(items); t.size > maxPattern {
		return errors.New("too many variables or too long prefixes")
	}
	shape.WriteString("}")
	pattern.WriteString(op.join(items))
	return nil
}

func parseVar(spec string) (templateVar, error) {
	v := templateVar{name: spec}
	if name, ok := strings.CutSuffix(spec, "*"); ok {
		v = templateVar{name: name, explode: true}
	} else if name, digits, ok := strings.Cut(spec, ":"); ok {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n >= maxVarPrefix || digits[0] == '0' || digits[0] == '+' {
			return v, fmt.Errorf("%q is no prefix length from 1 to %d", digits, maxVarPrefix-1)
		}
		v = templateVar{name: name, max: n}
	}
	if !isVarName(v.name) {
		return v, fmt.Errorf("%q is no variable name", v.name)
	}
	return v, nil
}

// isVarName reports whether s is varchar *( ["."] varchar ) of RFC 6570 §2.3.
func isVarName(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.Trim(part, varNameChars) != "" {
			return false
		}
	}
	return true
}

const varNameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_%"

func (v templateVar) shape(op operator) string {
	s := ""
	if op.named {
		s = v.name
	}
	if v.explode {
		return s + "*"
	}
	return s + ":" + strconv.Itoa(v.max)
}

// item is the pattern of one defined variable, which may be a list with commas.
func (o operator) item(v templateVar) string {
	if o.named {
		return o.namedItem(v)
	}
	not := `\x00-\x20\x7f`
	if !o.reserved {
		not += `/?#`
	}
	if o.sep != "." { // a dot may be in a value
		not += regexp.QuoteMeta(o.sep)
	}
	value := o.value(not, v.max)
	switch {
	case v.explode:
		return value + "(?:" + regexp.QuoteMeta(o.sep) + value + ")*"
	case v.max == 0 && o.sep == ",":
		return value + "(?:," + value + ")*"
	}
	return value
}

func (o operator) namedItem(v templateVar) string {
	const not = `\x00-\x20\x7f#&;`
	name := regexp.QuoteMeta(v.name)
	if v.explode { // a list repeats the name, a map brings its own
		pair := `[^` + not + `=/?]+(?:=` + o.value(not, 0) + `)?`
		return pair + "(?:" + o.sep + pair + ")*"
	}
	return name + `(?:=` + o.value(not, v.max) + `)?`
}

// value matches up to max characters, a percent-encoded byte being one; 0 is any number. Longer
// bounds than the engine's are not held.
func (o operator) value(not string, max int) string {
	class := `[^` + not + `]`
	if max == 0 || max > maxRepeat {
		return class + "*"
	}
	return `(?:%[0-9A-Fa-f]{2}|[^%` + not + `]){0,` + strconv.Itoa(max) + `}`
}

// join makes the pattern of an expression from those of its variables, each of which may be
// undefined: one way for each that is the first to be there.
func (o operator) join(items []string) string {
	first, sep := regexp.QuoteMeta(o.first), regexp.QuoteMeta(o.sep)
	var ways []string
	for i := range items {
		way := first + items[i]
		for _, item := range items[i+1:] {
			way += "(?:" + sep + item + ")?"
		}
		ways = append(ways, way)
	}
	return "(?:" + strings.Join(ways, "|") + ")?"
}

// Match reports whether uri could be an expansion of the template.
func (t *URITemplate) Match(uri string) bool { return t.pattern.MatchString(uri) }

// Prefix is the literal text before the first expression.
func (t *URITemplate) Prefix() string { return t.prefix }
