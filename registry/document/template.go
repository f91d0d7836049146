package document

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// Limits of a template and of its output.
const (
	// maxPrompt limits a prompt file, in bytes: it is part of a model's context.
	maxPrompt = 256 << 10
	// maxNesting limits the nesting of conditions and loops.
	maxNesting = 16
	// maxOutput limits the text of one prompt, in bytes.
	maxOutput = 256 << 10
	// maxSteps limits the parts that one prompt evaluates: nested loops grow fast.
	maxSteps = 100_000
)

// part is a piece of a template: text, a value, a condition or a loop.
type part struct {
	line int
	text string // literal, if name is ""
	name string // an argument or a loop's item
	kind partKind
	want string // of a comparison
	item string // of a loop
	yes  []part // if the condition holds; the body of a loop
	no   []part
}

type partKind int

const (
	isText partKind = iota
	isValue
	isSet    // {{if name}}
	isUnset  // {{if not name}}
	isEqual  // {{if name == "value"}}
	isUnlike // {{if name != "value"}}
	isLoop   // {{each item in name}}
)

// parser parses one message's text.
type parser struct {
	rest  string
	line  int
	known []string // arguments and items of the enclosing loops
	depth int
}

// parse parses parts up to one of the end tags, which it returns; "" is the end of the text.
func (p *parser) parse(ends ...string) (parts []part, end string, err error) {
	if p.depth++; p.depth > maxNesting {
		return nil, "", p.fail("conditions and loops nest too deep")
	}
	defer func() { p.depth-- }()
	for {
		text, rest, found := strings.Cut(p.rest, "{{")
		if text != "" {
			parts = append(parts, part{line: p.line, text: text})
		}
		p.line += strings.Count(text, "\n")
		if p.rest = rest; !found {
			return parts, "", nil
		}
		tag, rest, found := strings.Cut(p.rest, "}}")
		if !found || strings.Contains(tag, "\n") {
			return nil, "", p.fail("{{ without }} on the same line")
		}
		p.rest = rest
		words := strings.Fields(tag)
		if len(words) == 1 && slices.Contains(ends, words[0]) {
			p.endLine(text)
			return parts, words[0], nil
		}
		one, err := p.tag(words, strings.TrimSpace(tag), text)
		if err != nil {
			return nil, "", err
		}
		parts = append(parts, one)
	}
}

// endLine skips the rest of a line with nothing but a tag of a condition or a loop, so that such lines leave no empty
// ones. before is the text in front of the tag.
func (p *parser) endLine(before string) {
	if i := strings.LastIndexByte(before, '\n'); strings.TrimSpace(before[i+1:]) != "" {
		return
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t"), "\n"); ok {
		p.rest = rest
		p.line++
	}
}

func (p *parser) fail(format string, args ...any) error {
	return strictyaml.Errorf(p.line, format, args...)
}

// tag parses the contents of {{ and }}.
func (p *parser) tag(words []string, tag, before string) (part, error) {
	one := part{line: p.line}
	switch {
	case len(words) == 0:
		return one, p.fail("{{}} is empty")
	case words[0] == "if":
		return p.condition(one, strings.TrimSpace(strings.TrimPrefix(tag, "if")), before)
	case words[0] == "each":
		return p.loop(one, words, before)
	case words[0] == "else" || words[0] == "end":
		return one, p.fail("{{%s}} without an {{if}} or {{each}}", words[0])
	case len(words) > 1:
		return one, p.fail("{{%s}} is no value, {{if …}} or {{each … in …}}", tag)
	}
	one.kind, one.name = isValue, words[0]
	return one, p.check(one.name)
}

func (p *parser) check(name string) error {
	if !slices.Contains(p.known, name) {
		return p.fail("%q is no argument of this prompt", name)
	}
	return nil
}

// condition parses {{if name}}, {{if not name}}, {{if name == "value"}} or {{if name != "value"}}.
func (p *parser) condition(one part, text, before string) (part, error) {
	one.kind, one.name = isSet, text
	if rest, ok := strings.CutPrefix(text, "not "); ok {
		one.kind, one.name = isUnset, strings.TrimSpace(rest)
	}
	if name, operator, value, found := cutOperator(text); found {
		if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
			return one, p.fail("write {{if name %s \"value\"}}", operator)
		}
		one.kind, one.name, one.want = isEqual, name, value[1:len(value)-1]
		if operator == "!=" {
			one.kind = isUnlike
		}
	}
	if err := p.check(one.name); err != nil {
		return one, err
	}
	p.endLine(before)
	var end string
	var err error
	if one.yes, end, err = p.parse("else", "end"); err == nil && end == "else" {
		one.no, end, err = p.parse("end")
	}
	if err == nil && end == "" {
		err = strictyaml.Errorf(one.line, "{{if}} without {{end}}")
	}
	return one, err
}

// cutOperator splits a comparison at its operator.
func cutOperator(text string) (name, operator, value string, found bool) {
	i := strings.IndexAny(text, "=!")
	if i < 0 || !strings.HasPrefix(text[i:], "==") && !strings.HasPrefix(text[i:], "!=") {
		return "", "", "", false
	}
	return strings.TrimSpace(text[:i]), text[i : i+2], strings.TrimSpace(text[i+2:]), true
}

// loop parses {{each item in name}}.
func (p *parser) loop(one part, words []string, before string) (part, error) {
	if len(words) != 4 || words[2] != "in" {
		return one, p.fail("write {{each item in name}}")
	}
	one.kind, one.item, one.name = isLoop, words[1], words[3]
	if err := p.check(one.name); err != nil {
		return one, err
	}
	p.endLine(before)
	p.known = append(p.known, one.item)
	var end string
	var err error
	one.yes, end, err = p.parse("end")
	p.known = p.known[:len(p.known)-1]
	if err == nil && end == "" {
		err = strictyaml.Errorf(one.line, "{{each}} without {{end}}")
	}
	return one, err
}

// writer expands a template. Its output and its steps are limited, and values are never parsed as templates.
type writer struct {
	out   strings.Builder
	steps int
	left  int // bytes
}

func (w *writer) write(parts []part, values map[string]string) error {
	for i := range parts {
		one := &parts[i]
		if w.steps++; w.steps > maxSteps {
			return strictyaml.Errorf(one.line, "the loops take too long with these arguments")
		}
		var err error
		switch one.kind {
		case isText:
			err = w.text(one, one.text)
		case isValue:
			err = w.text(one, values[one.name])
		case isLoop:
			err = w.loop(one, values)
		default:
			err = w.write(one.branch(values[one.name]), values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) text(one *part, text string) error {
	if w.left -= len(text); w.left < 0 {
		return strictyaml.Errorf(one.line, "the prompt is over %d KiB with these arguments", maxOutput>>10)
	}
	w.out.WriteString(text)
	return nil
}

func (p *part) branch(value string) []part {
	holds := false
	switch p.kind {
	case isSet:
		holds = value != ""
	case isUnset:
		holds = value == ""
	case isEqual:
		holds = value == p.want
	case isUnlike:
		holds = value != p.want
	}
	if holds {
		return p.yes
	}
	return p.no
}

// loop expands its body once for each item.
func (w *writer) loop(one *part, values map[string]string) error {
	outer, shadowed := values[one.item]
	w.steps += len(values[one.name]) / 16 // splitting takes time too
	for _, item := range items(values[one.name]) {
		values[one.item] = item
		if err := w.write(one.yes, values); err != nil {
			return err
		}
	}
	if delete(values, one.item); shadowed {
		values[one.item] = outer
	}
	return nil
}

// items returns the lines of a value, or the parts between commas of a single line, without empty ones.
func items(value string) []string {
	separator := ","
	if strings.Contains(strings.TrimSpace(value), "\n") {
		separator = "\n"
	}
	var list []string
	for item := range strings.SplitSeq(value, separator) {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
