package command

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxArgs limits the entries of args, in all its lists together.
	maxArgs = 512
	// maxLine limits the arguments and the environment of one call, in bytes with their NULs, as Linux does for one
	// argument and more.
	maxLine = 1 << 20
	// maxRepeat limits the arguments of one call.
	maxRepeat = 16 << 10
)

// entry is one entry of args: a text, a value, a list, or a condition.
type entry struct {
	text    string // the argument itself; with a value, its beginning: --name=
	value   *slot
	carried bool // the value cannot be read as an option
	// group is passed as a whole, once for each element of an array in it; nothing if one of its values is absent.
	group []entry
	// when is the argument that has to be there and not false for then to be passed; with unless, it must not.
	when   *slot
	unless bool
	then   []entry
}

// argReader parses args.
type argReader struct {
	in    *schema
	after bool // behind --
	count int
}

func (t *tool) readArgs(at place, o jsonraw.Object, in *schema) (err error) {
	r := &argReader{in: in}
	t.args, err = r.list(at.key("args"), o.Get("args"), true)
	return err
}

// list parses the entries of args, or with top unset those behind a condition.
func (r *argReader) list(at place, raw json.RawMessage, top bool) ([]entry, error) {
	if raw == nil {
		return nil, nil
	}
	items, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, at.fail("args is a list: one entry for each argument")
	}
	var list []entry
	for i, item := range items {
		e, err := r.entry(at.index(i), item, top)
		if err != nil {
			return nil, err
		}
		r.after = r.after || top && e.text == "--" && e.value == nil
		list = append(list, e)
	}
	return list, nil
}

func (r *argReader) entry(at place, raw json.RawMessage, top bool) (entry, error) {
	if r.count++; r.count > maxArgs {
		return entry{}, at.fail("args has over %d entries", maxArgs)
	}
	switch {
	case jsonraw.IsArray(raw):
		return r.group(at, raw)
	case jsonraw.IsObject(raw) && top:
		return r.condition(at, raw)
	case jsonraw.IsString(raw):
		return r.argument(at, raw)
	case top:
		return entry{}, at.fail("an entry of args is a text, a list, or {if: NAME, args: […]}; write a number in quotes")
	}
	return entry{}, at.fail("an entry here is a text or a list; write a number in quotes")
}

// argument parses a text, "{name}", or an option that carries its value: "--option={name}" or "-o{name}".
func (r *argReader) argument(at place, raw json.RawMessage) (entry, error) {
	text, err := at.text(raw, maxText)
	if err != nil {
		return entry{}, err
	}
	start := opening(text)
	if start < 0 {
		text, err := literal(at, text)
		return entry{text: text}, err
	}
	name, ok := placeholder(text[start:])
	if !ok {
		return entry{}, at.fail("an argument is a text or one value, not a mix of both: write \"{NAME}\" as an entry of its own, or let an option carry it: \"--option={NAME}\"")
	}
	e := entry{carried: r.after}
	if e.text, err = literal(at, text[:start]); err != nil {
		return entry{}, err
	}
	switch {
	case e.text == "":
	case carries(e.text):
		e.carried = true
	default:
		return entry{}, at.fail("the text %q cannot carry a value, which could become a part of it: write \"{%s}\" as an entry of its own, or \"--option={%s}\"", clip(e.text), clip(name), clip(name))
	}
	if e.value, err = r.in.slot(at, name); err == nil {
		err = e.value.listed(at)
	}
	return e, err
}

// carries reports whether an option carries the value written behind it: --option= or -o.
func carries(prefix string) bool {
	if len(prefix) == 2 && prefix[0] == '-' {
		return isName(prefix[1:]) && prefix[1] != '-'
	}
	name, ok := strings.CutSuffix(prefix, "=")
	return ok && len(name) > 1 && name[0] == '-' && strings.Trim(name, "-") != ""
}

// group parses a list of texts and values.
func (r *argReader) group(at place, raw json.RawMessage) (entry, error) {
	items, err := jsonraw.Elements(raw)
	if err != nil || len(items) == 0 {
		return entry{}, at.fail("a list in args has at least one entry")
	}
	var e entry
	lists := 0
	for i, item := range items {
		if !jsonraw.IsString(item) {
			return entry{}, at.index(i).fail("a list in args holds texts only; write a number in quotes")
		}
		one, err := r.entry(at.index(i), item, false)
		if err != nil {
			return entry{}, err
		}
		if one.value != nil && one.value.kind == "array" {
			lists++
		}
		e.group = append(e.group, one)
	}
	if lists > 1 {
		return entry{}, at.fail("a list in args repeats for one array, and here are %d", lists)
	}
	return e, nil
}

// condition parses {if: NAME, args: […]} or {unless: NAME, args: […]}.
func (r *argReader) condition(at place, raw json.RawMessage) (entry, error) {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return entry{}, at.fail("%v", err)
	}
	if err := at.keys(o, "if", "unless", "args"); err != nil {
		return entry{}, err
	}
	key := "if"
	e := entry{unless: o.Get("unless") != nil}
	if e.unless {
		key = "unless"
	}
	name, ok := jsonraw.String(o.Get(key))
	if !ok || len(o) != 2 || o.Get("args") == nil {
		return entry{}, at.fail("a condition is {if: NAME, args: […]} or {unless: NAME, args: […]}")
	}
	if e.when, err = r.in.slot(at.key(key), name); err != nil {
		return entry{}, err
	}
	e.then, err = r.list(at.key("args"), o.Get("args"), false)
	return e, err
}

// opening returns the index of the first brace that opens a placeholder; -1 if there is none. Doubled braces are texts.
func opening(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '{' && strings.HasPrefix(text[i:], "{{"):
			i++
		case text[i] == '{':
			return i
		}
	}
	return -1
}

// placeholder returns the name of a text that is one placeholder.
func placeholder(text string) (name string, ok bool) {
	name, ok = strings.CutPrefix(text, "{")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, "}")
	return name, ok && isName(name)
}

// literal returns a text with its doubled braces made single.
func literal(at place, text string) (string, error) {
	rest := strings.NewReplacer("{{", "", "}}", "").Replace(text)
	if strings.ContainsAny(rest, "{}") {
		return "", at.fail("a brace that is text is doubled: {{ or }}; a value is an entry of its own: \"{NAME}\"")
	}
	return strings.NewReplacer("{{", "{", "}}", "}").Replace(text), nil
}

// line builds the arguments and the environment of one call.
type line struct {
	given *given
	args  []string
	size  int
}

// add appends one argument: a text behind the option that carries it, or behind nothing.
func (l *line) add(option, text string) error {
	l.size += len(option) + len(text) + 1
	switch {
	case l.size > maxLine:
		return endOf(runtime.KindLimit, "the command line is over %d bytes: pass large values by the standard input of the tool", maxLine)
	case len(l.args) >= maxRepeat:
		return overRepeat()
	}
	l.args = append(l.args, option+text)
	return nil
}

func overRepeat() error {
	return endOf(runtime.KindLimit, "the command line has over %d arguments", maxRepeat)
}

func (l *line) entries(list []entry) error {
	for _, e := range list {
		if err := l.entry(e); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) entry(e entry) error {
	switch {
	case e.when != nil:
		if given := l.given.values[e.when.name]; (given != nil && string(given) != "false") == e.unless {
			return nil
		}
		return l.entries(e.then)
	case e.group != nil:
		return l.group(e.group)
	case e.value == nil:
		return l.add(e.text, "")
	}
	texts, err := e.texts(l.given)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if err := l.add(e.text, text); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the values of an entry that is no list and no condition, without its text in front of each.
func (e *entry) texts(g *given) ([]string, error) {
	if e.value == nil {
		return []string{""}, nil
	}
	texts, err := g.textsOf(e.value)
	if err != nil {
		return nil, err
	}
	letter := e.text != "" && !strings.HasSuffix(e.text, "=")
	for _, text := range texts {
		if !e.carried && strings.HasPrefix(text, "-") {
			return nil, invalid("the argument %q begins with a dash, so the program could read it as an option: this tool takes no such value", e.value.name)
		}
		if letter && text == "" {
			return nil, invalid("the argument %q is empty, so the program could read its next argument as the value of %s: leave it out", e.value.name, e.text)
		}
	}
	return texts, nil
}

// group appends a list as often as its array has elements, once without an array.
func (l *line) group(list []entry) error {
	columns := make([][]string, len(list))
	times := 1
	for i := range list {
		texts, err := list[i].texts(l.given)
		if err != nil {
			return err
		}
		if len(texts) == 0 { // one of its values is absent
			return nil
		}
		if list[i].isArray() {
			times = len(texts)
		}
		columns[i] = texts
	}
	for n := range times {
		for i, texts := range columns {
			text := texts[0]
			if list[i].isArray() {
				text = texts[n]
			}
			if err := l.add(list[i].text, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *entry) isArray() bool { return e.value != nil && e.value.kind == "array" }
