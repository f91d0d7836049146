package helptext

import (
	"slices"
	"strings"
)

var (
	longName  = lazily(`^--[A-Za-z0-9][A-Za-z0-9_.-]*`)
	shortName = lazily(`^-[A-Za-z0-9][A-Za-z0-9_-]*`)
	argument  = lazily(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// parseOption reads the names and the value of an option: "-o, --output=FILE", "--indent int", "-A <NUM>".
func parseOption(spec string) (o Option, ok bool) {
	spec = strings.ReplaceAll(spec, "--[no-]", "--")
	for _, part := range alternatives(spec) {
		name := longName().FindString(part)
		if name == "" {
			name = shortName().FindString(part)
		}
		if name == "" || len(name) > maxName {
			return Option{}, false
		}
		o.names = append(o.names, name)
		rest := strings.TrimPrefix(part, name)
		if o.Name == "" || strings.HasPrefix(name, "--") && !strings.HasPrefix(o.Name, "--") {
			o.Name = name
		}
		value := strings.TrimLeft(rest, " =[<")
		repeat := strings.HasSuffix(strings.TrimRight(value, "]>"), "...") || strings.HasSuffix(value, "...")
		if value = strings.Trim(value, " =[]<>."); value == "" && strings.HasPrefix(rest, "=") {
			value, repeat = "value", false // --outdir=...
		}
		if value == "" {
			continue
		}
		o.Repeat = o.Repeat || repeat
		if first, second, _ := strings.Cut(value, " "); argument().MatchString(first) && argument().MatchString(second) && strings.HasPrefix(rest, " "+first) {
			value, o.Second = first, second // --arg name value
		}
		o.setValue(value)
	}
	return o, o.Name != ""
}

// alternatives splits the names of an option, which commas, bars or slashes separate.
func alternatives(spec string) (parts []string) {
	depth, begin := 0, 0
	for i := range len(spec) {
		switch c := spec[i]; {
		case c == '<' || c == '[' || c == '{':
			depth++
		case c == '>' || c == ']' || c == '}':
			depth--
		case depth == 0 && (c == ',' || c == '|' || c == '/' || c == ' ' && strings.HasPrefix(spec[i:], " --")):
			parts = append(parts, strings.TrimSpace(spec[begin:i]))
			begin = i + 1
		}
	}
	return slices.DeleteFunc(append(parts, strings.TrimSpace(spec[begin:])), func(s string) bool { return s == "" })
}

// setValue sets the name, the type and the choices of a value.
func (o *Option) setValue(value string) {
	o.Value, o.Kind = value, "string"
	if list, ok := strings.CutPrefix(value, "{"); ok {
		o.Choices = strings.Split(strings.TrimSuffix(list, "}"), ",")
		return
	}
	if strings.ContainsRune(value, '|') && !strings.ContainsRune(value, ' ') {
		o.Choices = strings.Split(value, "|")
		return
	}
	switch strings.ToLower(value) {
	case "int", "uint", "int32", "int64", "uint32", "uint64", "integer", "n", "num", "number", "count":
		o.Kind = "integer"
	case "float", "float32", "float64", "double":
		o.Kind = "number"
	case "strings", "stringarray", "stringslice":
		o.Repeat = true
	}
}

// tokens splits a usage line at spaces outside of brackets.
func tokens(line string) (words []string) {
	depth, begin := 0, -1
	end := func(i int) {
		if begin >= 0 {
			words = append(words, line[begin:i])
		}
		begin = -1
	}
	for i := range len(line) {
		switch line[i] {
		case '<', '[', '(', '{':
			depth++
		case '>', ']', ')', '}':
			depth--
		case ' ', '\t':
			if depth <= 0 {
				end(i)
				continue
			}
		}
		if begin < 0 {
			begin = i
		}
	}
	end(len(line))
	return words
}

// positional reads a word of a usage line: FILE, <FILE>, [FILE]..., [file ...].
func positional(word string) (p Positional, ok bool) {
	if strings.HasPrefix(strings.TrimLeft(word, "[("), "-") {
		return p, false
	}
	p = Positional{Name: plainName(word), Required: !strings.HasPrefix(word, "["), Repeat: strings.Contains(word, "...")}
	if !argument().MatchString(p.Name) || len(p.Name) > maxName || slices.Contains([]string{"option", "options", "flag", "flags", "command", "commands", "subcommand", "args_"}, strings.ToLower(p.Name)) {
		return Positional{}, false
	}
	return p, true
}

// plainName returns the name within brackets.
func plainName(word string) string {
	word = strings.NewReplacer("[", "", "]", "", "<", "", ">", "", "...", "", "'", "", `"`, "", "(", "", ")", "").Replace(word)
	return strings.ReplaceAll(strings.TrimSpace(word), " ", "_")
}
