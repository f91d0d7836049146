package helptext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Draft returns the text of a tool file with one tool for each command. One without words is the program itself.
func Draft(program, summary string, commands []Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Drafted by sallyport wrap from the program's help. Read it, keep the options that a caller needs, and say in the\n"+
		"# descriptions what each tool is good for. docs/programs.md explains the keys. A tool whose program exits with 1 after\n"+
		"# it ran well, as linters do, needs exit: {1: ok}.\n")
	fmt.Fprintf(&b, "program: %s\n", quoted(program))
	if summary != "" {
		fmt.Fprintf(&b, "description: %s\n", quoted(clip(summary)))
	}
	b.WriteString("tools:\n")
	taken := map[string]bool{}
	for _, c := range commands {
		d := &drafter{b: &b, taken: map[string]bool{}}
		d.tool(c, summary, unique(toolName(c.Words), taken))
	}
	return b.String()
}

// drafter writes one tool.
type drafter struct {
	b     *strings.Builder
	taken map[string]bool // names of properties
	args  []string
}

func (d *drafter) tool(c Command, summary, name string) {
	help := c.Help
	if help == "" {
		help = summary
	}
	if help == "" {
		help = "Runs the program."
	}
	fmt.Fprintf(d.b, "  - name: %s\n    description: %s\n    inputSchema:\n      type: object\n      additionalProperties: false\n      properties:\n", name, quoted(clip(help)))
	for _, word := range c.Words {
		d.args = append(d.args, quoted(word))
	}
	d.options(c.Usage.Options)
	required := d.positionals(c.Usage.Positionals)
	input := unique("input", d.taken)
	fmt.Fprintf(d.b, "        %s: {type: string, description: \"standard input\"}\n", input)
	if len(required) > 0 {
		fmt.Fprintf(d.b, "      required: [%s]\n", strings.Join(required, ", "))
	}
	if len(d.args) > 0 {
		d.b.WriteString("    args:\n")
	}
	for _, arg := range d.args {
		fmt.Fprintf(d.b, "      - %s\n", arg)
	}
	fmt.Fprintf(d.b, "    stdin: \"{%s}\"\n", input)
}

// options writes the properties of options.
func (d *drafter) options(options []Option) {
	for _, o := range options {
		if o.Second != "" {
			d.pair(o)
			continue
		}
		name := unique(camel(o.Name), d.taken)
		d.property(name, o)
		placeholder := "{" + name + "}"
		switch {
		case o.Value == "":
			d.args = append(d.args, fmt.Sprintf("{if: %s, args: [%s]}", name, quoted(o.Name)))
		case o.Kind == "boolean":
			d.args = append(d.args, quoted(o.Name+"="+placeholder))
		case len(o.Name) == 2:
			d.args = append(d.args, quoted(o.Name+placeholder))
		case !strings.HasPrefix(o.Name, "--"): // both Go's flag package and others take the value so
			d.args = append(d.args, fmt.Sprintf("[%s, %s]", quoted(o.Name), quoted(placeholder)))
		default:
			d.args = append(d.args, quoted(o.Name+"="+placeholder))
		}
	}
}

// pair writes the properties of an option with two values. Neither is joined to the name by =, so that the option takes
// exactly these two and leaves the -- behind it.
func (d *drafter) pair(o Option) {
	first, second := unique(camel(o.Name+"-"+o.Value), d.taken), unique(camel(o.Name+"-"+o.Second), d.taken)
	d.write(first, "type: string", false, o.Help)
	d.write(second, "type: string", false, "the "+o.Second+" of "+first)
	d.args = append(d.args, fmt.Sprintf("[%s, %s, %s]", quoted(o.Name), quoted("{"+first+"}"), quoted("{"+second+"}")))
}

func (d *drafter) property(name string, o Option) {
	schema := "type: boolean"
	if o.Value != "" {
		schema = "type: " + o.Kind
	}
	if len(o.Choices) > 0 {
		list := make([]string, len(o.Choices))
		for i, choice := range o.Choices {
			list[i] = quoted(choice)
		}
		schema += ", enum: [" + strings.Join(list, ", ") + "]"
	}
	d.write(name, schema, o.Repeat && o.Value != "", o.Help)
}

func (d *drafter) write(name, schema string, list bool, help string) {
	if list {
		schema = "type: array, items: {" + schema + "}"
	}
	if help != "" {
		schema += ", description: " + quoted(clip(help))
	}
	fmt.Fprintf(d.b, "        %s: {%s}\n", name, schema)
}

// positionals writes the properties of arguments behind --, and returns the required ones.
func (d *drafter) positionals(list []Positional) (required []string) {
	if len(list) > 0 {
		d.args = append(d.args, quoted("--"))
	}
	for _, p := range list {
		name := unique(camel(p.Name), d.taken)
		d.write(name, "type: string", p.Repeat, p.Help)
		d.args = append(d.args, quoted("{"+name+"}"))
		if p.Required {
			required = append(required, name)
		}
	}
	return required
}

// toolName returns the name of a tool for the words of a command.
func toolName(words []string) string {
	if len(words) == 0 {
		return "run"
	}
	return camel(strings.Join(words, "-"))
}

// camel returns a name in camel case, of letters and digits.
func camel(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, part := range parts {
		if strings.ToUpper(part) == part && len(part) > 1 {
			part = strings.ToLower(part)
		}
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		} else if len(part) > 1 {
			part = strings.ToLower(part[:1]) + part[1:]
		}
		parts[i] = part
	}
	if joined := strings.Join(parts, ""); joined != "" {
		return joined
	}
	return "value"
}

// reserved are words that YAML reads as other values than texts.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// unique returns a name that is not taken, and takes it.
func unique(name string, taken map[string]bool) string {
	if slices.Contains(reserved, strings.ToLower(name)) || name[0] >= '0' && name[0] <= '9' {
		name = "with" + strings.ToUpper(name[:1]) + name[1:]
	}
	for base, n := name, 2; taken[name]; n++ {
		name = base + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}

// quoted returns a text in double quotes, as YAML and JSON write it. Characters that do not print are left out.
func quoted(s string) string {
	s = strings.ToValidUTF8(s, "")
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		}
	}
	b.WriteByte('"')
	return b.String()
}
