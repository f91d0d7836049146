package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// variable is a variable specification: {name:max} or {name*}.
type variable struct {
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

// expression adds the pattern of one {…} to the template's.
func (t *Template) expression(text string, pattern, shape *strings.Builder) error {
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

func parseVar(spec string) (variable, error) {
	v := variable{name: spec}
	if name, ok := strings.CutSuffix(spec, "*"); ok {
		v = variable{name: name, explode: true}
	} else if name, length, ok := strings.Cut(spec, ":"); ok {
		n, err := strconv.Atoi(length)
		if err != nil || n < 1 || n >= maxVarPrefix || length[0] == '0' || length[0] == '+' {
			return v, fmt.Errorf("%q is no prefix length from 1 to %d", length, maxVarPrefix-1)
		}
		v = variable{name: name, max: n}
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

const varNameChars = letters + digits + "_%"

func (v variable) shape(op operator) string {
	s := ""
	if op.named {
		s = v.name
	}
	if v.explode {
		return s + "*"
	}
	return s + ":" + strconv.Itoa(v.max)
}

// item returns the pattern of one defined variable, which may be a list with commas.
func (o operator) item(v variable) string {
	if o.named {
		return o.namedItem(v)
	}
	not := `\x00-\x20\x7f`
	if !o.reserved {
		not += `/?#`
	}
	if o.sep != "." && (!o.reserved || v.max == 0) { // a value may have dots, and a prefix of a reserved one commas
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

func (o operator) namedItem(v variable) string {
	const not = `\x00-\x20\x7f#&;`
	name := regexp.QuoteMeta(v.name)
	if v.explode { // a list repeats the name, a map has its own
		pair := `[^` + not + `=/?]+(?:=` + o.value(not, 0) + `)?`
		return pair + "(?:" + o.sep + pair + ")*"
	}
	return name + `(?:=` + o.value(not, v.max) + `)?`
}

// encoded matches a percent-encoded character, as the bytes of its UTF-8, or a byte that is part of none.
const encoded = `%[0-7][0-9A-Fa-f]|%[CDcd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}|%[Ff][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){3}|%[89A-Fa-f][0-9A-Fa-f]`

// value matches up to max characters (RFC 6570, section 2.4.1), regardless of the bytes of each; 0 is any number. A max
// beyond maxRepeat is not enforced.
func (o operator) value(not string, max int) string {
	class := `[^` + not + `]`
	if max == 0 || max > maxRepeat {
		return class + "*"
	}
	return `(?:` + encoded + `|[^%` + not + `]){0,` + strconv.Itoa(max) + `}`
}

// join returns the pattern of an expression from those of its variables, each of which may be undefined: one
// alternative for each variable that may be the first defined one.
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
