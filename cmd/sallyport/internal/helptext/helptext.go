// Package helptext reads the help that command-line programs print, in the styles of GNU, cobra, clap, argparse and Go's
// flag package, and drafts a tool file from it.
//
//	u := helptext.Parse(text)
//	file := helptext.Draft("gojq", "jq in Go", []helptext.Command{{Usage: u}})
//
// Help is written for people, so a draft is a beginning that a person completes.
package helptext

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Usage is the command line that a help text describes.
type Usage struct {
	Summary     string
	Options     []Option
	Positionals []Positional // beside Commands: of the program without a command, which has arguments then
	Commands    []Command
}

// Option is one option.
type Option struct {
	Name    string // with its dashes: --indent, or -n if there is no long name
	Value   string // the name of its value; "" for a flag
	Second  string // the name of its second value: --arg NAME VALUE; "" if it has none
	Kind    string // the JSON type of the value
	Choices []string
	Repeat  bool
	Help    string
	names   []string // all names
}

// Positional is an argument that is no option.
type Positional struct {
	Name     string
	Required bool
	Repeat   bool
	Help     string
}

// Command is a sub-command, by its words, with the usage of its own help.
type Command struct {
	Words []string
	Help  string
	Usage *Usage
}

const (
	// maxOptions, maxPositionals and maxCommands limit a draft: nobody reads more.
	maxOptions, maxPositionals, maxCommands = 100, 16, 24
	// maxName limits the name of an option, in bytes.
	maxName = 64
	// maxHelp limits the help of one option, in bytes.
	maxHelp = 300
	// maxSynopsis limits the usage lines, in bytes.
	maxSynopsis = 16 << 10
)

var (
	header    = lazily(`^([A-Za-z][A-Za-z /_-]*):\s*$`)
	usageLine = lazily(`(?i)^\s*usage(?: of [^:]+)?:\s*(.*)$`)
	listed    = lazily(`^\s{1,8}([a-z0-9][A-Za-z0-9_-]{0,63})((?:, [a-z0-9][A-Za-z0-9_-]*)*)(?:\s{2,}|\t+)(\S.*)$`)
	braces    = lazily(`^\s+\{([a-z0-9][A-Za-z0-9_,-]*)\}`)
	escapes   = lazily("\x1b\\[[0-9;]*[A-Za-z]")
	choices   = lazily(`\[possible values: ([^\]]+)\]`)
	typed     = lazily(`^(str|string|int|uint|float|duration)(?:\s{2,}|\t+)(\S.*)$`)
	manyTimes = lazily(`(?i)(can|may) be (repeated|used|specified|given|set)( multiple| more than| several)|multiple times|repeatable`)
)

// lazily returns an expression that is compiled at its first use: each start of the host has this package, and few read a
// help text.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Parse reads the help text of a program, or of its sub-command with these words. It never fails: a text without options
// gives an almost empty Usage.
func Parse(text string, words ...string) *Usage {
	p := &parser{usage: &Usage{}, words: words}
	text = strings.ReplaceAll(escapes().ReplaceAllString(text, ""), "\r\n", "\n")
	for line := range strings.SplitSeq(text, "\n") {
		p.line(strings.TrimRight(line, " \t\r"))
	}
	p.finish()
	return p.usage
}

// parser reads a help text line by line.
type parser struct {
	usage   *Usage
	words   []string // of the sub-command
	section string   // the heading of the section, in lower case
	synopsis
	last   *string // the help that the next lines may continue
	indent int     // of the line that began it
	column int     // where the help of the last option began in its line, or 0
	begun  bool    // a line was read
}

// synopsis collects the first usage line and those that continue it.
type synopsis struct {
	text   string
	open   bool
	either bool // another usage line has the commands, so the program runs without one too
}

func (p *parser) line(line string) {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	body := strings.TrimSpace(line)
	switch {
	case body == "":
		p.open = p.open && p.text == ""
		if p.last != nil && *p.last != "" {
			p.last = nil
		}
		return
	case usageLine().MatchString(line):
		p.last, p.section = nil, "usage"
		if p.text == "" {
			p.text, p.open = strings.TrimSpace(usageLine().FindStringSubmatch(line)[1]), true
		}
	case header().MatchString(line):
		p.section, p.last, p.open = strings.ToLower(header().FindStringSubmatch(line)[1]), nil, false
	case strings.HasPrefix(body, "-") && indent > 0 && p.option(body, indent):
		p.open = false
	case p.open && indent > 0:
		if p.text == "" || !strings.HasPrefix(body, "or:") && !strings.HasPrefix(line, "  "+firstWord(p.text)+" ") {
			p.text = joined(p.text, body, maxSynopsis)
		} else {
			p.either = p.either || strings.HasSuffix(body, " [command]")
		}
	case p.entry(line, body, indent):
	case p.last != nil && indent > p.indent:
		*p.last = joined(*p.last, body, maxHelp)
	case !p.begun && indent == 0:
		p.usage.Summary = body
	default:
		p.last, p.open = nil, p.open && indent > 0
	}
	p.begun = true
}

// entry reads an entry of a section with commands or arguments.
func (p *parser) entry(line, body string, indent int) bool {
	options := strings.Contains(p.section, "option") || strings.Contains(p.section, "flag")
	commands, arguments := strings.Contains(p.section, "command") && !options, strings.Contains(p.section, "argument") || p.section == "args"
	if m := braces().FindStringSubmatch(line); arguments && m != nil { // argparse lists its commands so
		p.section = "commands"
		for name := range strings.SplitSeq(m[1], ",") {
			p.command(name, "")
		}
		return true
	}
	m := listed().FindStringSubmatch(line)
	switch {
	case commands && m != nil:
		p.command(m[1], m[3])
		p.last, p.indent = nil, indent
		return true
	case arguments && (m != nil || strings.ContainsAny(body[:1], "<[")):
		name, help := split(body)
		for i, known := range p.usage.Positionals {
			if known.Name == plainName(name) {
				p.usage.Positionals[i].Help = help
			}
		}
		if arg, ok := positional(name); ok && len(p.usage.Positionals) < maxPositionals && !p.hasPositional(arg.Name) {
			arg.Help = help
			p.usage.Positionals = append(p.usage.Positionals, arg)
			p.last, p.indent = &p.usage.Positionals[len(p.usage.Positionals)-1].Help, indent
		}
		return true
	}
	return false
}

func (p *parser) hasPositional(name string) bool {
	return slices.ContainsFunc(p.usage.Positionals, func(a Positional) bool { return a.Name == name })
}

// command records a sub-command, or the help of one that is known.
func (p *parser) command(name, help string) {
	if slices.Contains([]string{"help", "completion", "version"}, name) {
		return
	}
	for i, c := range p.usage.Commands {
		if c.Words[0] == name {
			p.usage.Commands[i].Help = help
			return
		}
	}
	if len(p.usage.Commands) < maxCommands {
		p.usage.Commands = append(p.usage.Commands, Command{Words: []string{name}, Help: help})
	}
}

// option reads a line that begins with a dash.
func (p *parser) option(body string, indent int) bool {
	spec, help := split(body)
	if at := p.column - indent; help == "" && at > 1 && at < len(body) && body[at-1] == ' ' { // the spec fills its column
		spec, help = strings.TrimSpace(body[:at]), strings.TrimSpace(body[at:])
	} else if help != "" {
		p.column = indent + len(body) - len(help)
	}
	o, ok := parseOption(spec)
	if !ok {
		return false
	}
	if m := typed().FindStringSubmatch(help); o.Value == "" && m != nil { // a column of types
		o.setValue(m[1])
		help = m[2]
	}
	o.Help = help
	p.last, p.indent = nil, indent
	if slices.Contains([]string{"--help", "--version", "-h", "-V", "-help", "-version", "--color", "--colour", "--no-color"}, o.Name) ||
		len(p.usage.Options) >= maxOptions || slices.ContainsFunc(p.usage.Options, func(k Option) bool { return k.Name == o.Name }) {
		return true
	}
	p.usage.Options = append(p.usage.Options, o)
	p.last = &p.usage.Options[len(p.usage.Options)-1].Help
	return true
}

// split separates an entry from its help, at the first two spaces or tab that are not behind a comma.
func split(body string) (spec, help string) {
	depth := 0
	for i := range len(body) {
		switch c := body[i]; {
		case c == '<' || c == '[' || c == '{':
			depth++
		case c == '>' || c == ']' || c == '}':
			depth--
		case depth <= 0 && (c == '\t' || c == ' ' && strings.HasPrefix(body[i:], "  ")) && !strings.HasSuffix(strings.TrimRight(body[:i], " \t"), ","):
			return body[:i], strings.TrimSpace(body[i:])
		}
	}
	return body, ""
}

// finish reads the collected usage, and the values that the help texts mention.
func (p *parser) finish() {
	words := tokens(p.text)
	if len(words) > 0 {
		words = words[1:] // the program
	}
	for _, own := range p.words {
		if len(words) > 0 && words[0] == own {
			words = words[1:]
		}
	}
	var found []Positional
	for i, w := range words {
		arg, ok := positional(w)
		if !ok || i > 0 && p.takesValue(words[i-1]) || len(found) >= maxPositionals || slices.ContainsFunc(p.usage.Commands, func(c Command) bool { return c.Words[0] == w }) {
			continue
		}
		if i := slices.IndexFunc(found, func(a Positional) bool { return a.Name == arg.Name }); i >= 0 {
			found[i].Repeat = true // file [file ...]
			continue
		}
		for _, described := range p.usage.Positionals {
			if described.Name == arg.Name {
				arg.Help = described.Help
			}
		}
		found = append(found, arg)
	}
	switch p.usage.Positionals = found; {
	case len(p.usage.Commands) > 0 && !p.either:
		p.usage.Positionals = nil
	case len(p.usage.Commands) > 0:
	case len(found) == 0: // many usage lines leave them out
		p.usage.Positionals = []Positional{{Name: "arguments", Repeat: true, Help: "the arguments behind the options"}}
	}
	for i := range p.usage.Options {
		p.usage.Options[i].complete()
	}
}

// takesValue reports whether a word of a usage line is an option whose value is the next word.
func (p *parser) takesValue(word string) bool {
	return slices.ContainsFunc(p.usage.Options, func(o Option) bool { return o.Value != "" && slices.Contains(o.names, word) })
}

// complete reads the choices and the repetition from the help of an option.
func (o *Option) complete() {
	o.Help = clip(o.Help)
	if m := choices().FindStringSubmatch(o.Help); m != nil && o.Value != "" {
		for choice := range strings.SplitSeq(m[1], ",") {
			o.Choices = append(o.Choices, strings.TrimSpace(choice))
		}
		o.Kind = "string"
	}
	if o.Value == "" && strings.HasSuffix(o.Help, "(default true)") { // Go's flag and pflag take false behind = only
		o.Value, o.Kind = "bool", "boolean"
	}
	if o.Value != "" && manyTimes().MatchString(o.Help) {
		o.Repeat = true
	}
}

// joined returns a text with one more line, unless the text is over a limit: many lines would be copied for each.
func joined(text, line string, most int) string {
	if len(text) > most {
		return text
	}
	return strings.TrimSpace(text + " " + line)
}

func clip(s string) string {
	if len(s) > maxHelp {
		return strings.ToValidUTF8(s[:maxHelp], "") + "…"
	}
	return s
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
