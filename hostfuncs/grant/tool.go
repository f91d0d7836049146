package grant

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// toolRule is one tool of a tools line.
type toolRule struct {
	name string // public
	args []toolArg
	any  bool // allow other arguments too
}

// toolArg is the required value of an argument.
type toolArg struct {
	key  string
	text string
	bind *binding // argument of this call with the value; nil if it is text
}

func toolsForm() lineForm {
	return lineForm{
		family: Tools, example: "tools: [time-now, {forge-get: {owner: \"{args.owner}\"}}]", structured: true, deniable: true,
		parse: func(n Node) (rule, error) {
			rules, err := parseTools(n)
			return &toolList{rules}, err
		},
		options: map[string]lineOption{"any": option((*toolList).readAny, (*toolList).writeAny), "for": forOption()},
	}
}

// toolList is the value of a tools line.
type toolList struct{ rules []toolRule }

// maxTools is the maximum number of tools of one line.
const maxTools = 256

// parseTools reads a name, a list of names and {name: {argument: value}}, or such a map alone.
func parseTools(n Node) ([]toolRule, error) {
	usage := failf(n.Line, "tools takes names: write such as %q", example(Tools))
	switch n.Kind {
	case Map:
		var rules []toolRule
		for _, m := range n.Nodes {
			r, err := parseTool(m)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
		if rules == nil {
			return nil, usage
		}
		return rules, nil
	case List:
		var rules []toolRule
		for _, e := range n.Nodes {
			if e.Kind == List {
				return nil, usage
			}
			more, err := parseTools(e)
			if err != nil {
				return nil, err
			}
			if rules = append(rules, more...); len(rules) > maxTools {
				return nil, failf(n.Line, "more than %d tools in one line", maxTools)
			}
		}
		if rules == nil {
			return nil, usage
		}
		return rules, nil
	}
	if !isToolName(n.Value) {
		return nil, usage
	}
	return []toolRule{{name: n.Value}}, nil
}

// isToolName reports whether s can be a public name.
func isToolName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func parseTool(n Node) (toolRule, error) {
	r := toolRule{name: n.Key}
	if !isToolName(n.Key) || n.Kind != Map && n.Value != "" {
		return r, failf(n.Line, "%q is no tool with its arguments: write such as %q", n.Key, example(Tools))
	}
	for _, m := range n.Nodes {
		if m.Kind != Scalar {
			return r, failf(m.Line, "the argument %q is one text, number or {args.NAME}", m.Key)
		}
		a := toolArg{key: m.Key, text: m.Value}
		if isBinding(m.Value) {
			b, rest, err := parseBinding(m.Value, m.Line, oneStep)
			if err == nil && rest != "" {
				err = notAlone(m.Value, m.Line)
			}
			if err != nil {
				return r, err
			}
			a.bind, a.text = b, ""
		}
		r.args = append(r.args, a)
	}
	return r, nil
}

func (l *toolList) readAny(n Node) error {
	if n.Kind != Scalar || n.Value != "true" && n.Value != "false" {
		return failf(n.Line, "any is true or false")
	}
	for i := range l.rules {
		l.rules[i].any = n.Value == "true"
	}
	return nil
}

func (l *toolList) writeAny() string {
	if len(l.rules) > 0 && l.rules[0].any {
		return "true"
	}
	return ""
}

func (l *toolList) value() string {
	words := make([]string, len(l.rules))
	for i, r := range l.rules {
		words[i] = r.String()
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// String returns the rule in the form that parseTools reads.
func (r toolRule) String() string {
	if len(r.args) == 0 {
		return formatWord(r.name)
	}
	args := map[string]string{}
	for _, a := range r.args {
		args[a.key] = formatWord(a.text)
		if a.bind != nil {
			args[a.key] = formatWord(a.bind.String())
		}
	}
	return "{" + formatWord(r.name) + ": " + joinMap(args) + "}"
}

func (l *toolList) bindings() (all []*binding) {
	for _, r := range l.rules {
		for _, a := range r.args {
			all = append(all, a.bind)
		}
	}
	return all
}

// fill puts a value of the call into arguments. It is compared as a whole, so that any value but the empty one is
// valid.
func (l *toolList) fill(b *binding, v string, _ *Call) (rule, bool) {
	filled := &toolList{slices.Clone(l.rules)}
	for i := range filled.rules {
		r := &filled.rules[i]
		r.args = slices.Clone(r.args)
		for j, a := range r.args {
			if b.equal(a.bind) {
				r.args[j] = toolArg{key: a.key, text: v}
			}
		}
	}
	return filled, v != ""
}

// covers reports whether the rule covers a call: each argument that it names must be present with this value.
func (r *toolRule) covers(name string, args map[string]string) bool {
	if r.name != name {
		return false
	}
	for _, a := range r.args {
		if got, given := args[a.key]; a.bind != nil || !given || got != a.text {
			return false
		}
	}
	for key := range args {
		if at := slices.IndexFunc(r.args, func(a toolArg) bool { return strings.EqualFold(a.key, key) }); at < 0 && !r.any || at >= 0 && r.args[at].key != key {
			return false
		}
	}
	return true
}

// denies reports whether the rule may cover a call: no argument that it names has a different value, as a program may
// read it. An absent argument may have that value as its default, and further arguments are ignored.
func (r *toolRule) denies(name string, args map[string]string) bool {
	return r.name == name && !slices.ContainsFunc(r.args, func(a toolArg) bool {
		got, given := args[a.key]
		return given && got != Structured && !urlnorm.Same(a.text, got)
	})
}

// coversTool reports whether the line covers a call of a tool.
func (g *Grant) coversTool(name string, args map[string]string) bool {
	return slices.ContainsFunc(g.rule.(*toolList).rules, func(r toolRule) bool {
		if g.Deny {
			return r.denies(name, args)
		}
		return r.covers(name, args)
	})
}

// Structured is the text of an argument that is no string, number or boolean. No line matches it by value.
const Structured = "\x00structured"

// Tool decides on a call of another plugin's tool, by its public name and its arguments as text.
func (s *Set) Tool(name string, args map[string]string) Decision {
	d := s.decide(Tools, func(g *Grant) bool { return g.coversTool(name, args) })
	if d.Grant == nil && !d.Beyond {
		d.Suggest = suggestTool(name, args)
	}
	return d
}

// ToolLine returns a line for a call of another plugin's tool that contains no values: an argument whose text bound
// knows is replaced by that binding, such as {args.owner}. If there are others, the line allows any arguments.
func ToolLine(name string, args map[string]string, bound func(text string) (binding string, ok bool)) string {
	r := toolRule{name: name}
	for _, key := range sortedKeys(args) {
		if b, ok := bound(args[key]); ok {
			r.args = append(r.args, toolArg{key: key, text: b})
		} else {
			r.any = true
		}
	}
	return Quote(Grant{Family: Tools, rule: &toolList{[]toolRule{r}}}.String())
}

func suggestTool(name string, args map[string]string) string {
	r := toolRule{name: name}
	for _, key := range sortedKeys(args) {
		if args[key] == Structured {
			return ""
		}
		r.args = append(r.args, toolArg{key: key, text: args[key]})
	}
	line := Quote(Grant{Family: Tools, rule: &toolList{[]toolRule{r}}}.String())
	g, err := ParseLine(line)
	if err != nil || !g.rule.(*toolList).rules[0].covers(name, args) {
		return ""
	}
	return line
}
