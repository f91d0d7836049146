package grant

import (
	"slices"
	"strings"
)

// lineOption is a named option of the lines of a family.
type lineOption struct {
	read  func(*Grant, Node) error
	write func(*Grant) string // empty if the option is not set
}

// option returns an option that is a part of the rule of a line.
func option[R rule](read func(R, Node) error, write func(R) string) lineOption {
	return lineOption{
		read:  func(g *Grant, n Node) error { return read(g.rule.(R), n) },
		write: func(g *Grant) string { return write(g.rule.(R)) },
	}
}

// flagOption returns an option that is true or false. meaning is appended to the error.
func flagOption[R rule](meaning string, at func(R) *bool) lineOption {
	return option(func(r R, n Node) error {
		if n.Kind != Scalar || n.Value != "true" && n.Value != "false" {
			return failf(n.Line, "%s is true or false%s", n.Key, meaning)
		}
		*at(r) = n.Value == "true"
		return nil
	}, func(r R) string {
		if *at(r) {
			return "true"
		}
		return ""
	})
}

// sizeOption returns an option that is a size in bytes, 0 if not set.
func sizeOption[R rule](at func(R) *int64) lineOption {
	return option(func(r R, n Node) error {
		size, err := ParseSize(n.Value)
		if n.Kind != Scalar || err != nil {
			return failf(n.Line, "%s is a size, such as 64KiB", n.Key)
		}
		*at(r) = size
		return nil
	}, func(r R) string {
		if *at(r) == 0 {
			return ""
		}
		return FormatSize(*at(r))
	})
}

func forOption() lineOption {
	return lineOption{(*Grant).readFor, func(g *Grant) string { return listed(g.For) }}
}

func askOption() lineOption { return lineOption{(*Grant).readAsk, (*Grant).writeAsk} }

func privateOption() lineOption { return lineOption{(*Grant).readPrivate, (*Grant).writePrivate} }

// laterOption reports whether an option is reserved but not enforced by this version.
func laterOption(f Family, key string) bool {
	switch key {
	case "proxy":
		return f == Net
	case "as", "private":
		return f == FS
	}
	return false
}

func (g *Grant) parseOptions(nodes map[string]Node) error {
	form, _ := formOf(g.Family)
	for _, key := range sortedKeys(nodes) {
		n := nodes[key]
		o, found := form.options[key]
		switch {
		case !found && laterOption(g.Family, key):
			return failf(n.Line, "option %q of %s is not available in this version: remove it", key, g.Family)
		case !found && key == "who":
			return failf(n.Line, "config is the same for every caller: leave who out")
		case !found:
			return failf(n.Line, "unknown option %q of %s: write one of %s", key, g.Family, optionsOf(g.Family))
		}
		n.Key = key
		if err := o.read(g, n); err != nil {
			return err
		}
	}
	return nil
}

// optionsOf lists the options of a family.
func optionsOf(f Family) string {
	var names []string
	form, _ := formOf(f)
	for _, key := range sortedKeys(form.options) {
		if !laterOption(f, key) {
			names = append(names, key)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// placeTexts reads the patterns of within, which contain no braces.
func placeTexts(n Node, read func(Node) error) error {
	nodes, err := texts(n)
	for _, e := range nodes {
		if err == nil {
			err = read(e)
		}
	}
	if err == nil && slices.ContainsFunc(nodes, func(e Node) bool { return strings.Contains(e.Value, "{") }) {
		return failf(n.Line, "within holds no braces: write the places themselves")
	}
	return err
}

// texts reads a list of texts, or a single one.
func texts(n Node) ([]Node, error) {
	if n.Kind == Scalar && n.Value != "" {
		return []Node{n}, nil
	}
	if n.Kind != List || len(n.Nodes) == 0 || len(n.Nodes) > maxSegments {
		return nil, failf(n.Line, "%s is a list of texts, such as [a, b]", n.Key)
	}
	for _, e := range n.Nodes {
		if e.Kind != Scalar || e.Value == "" {
			return nil, failf(e.Line, "%s is a list of texts, such as [a, b]", n.Key)
		}
	}
	return n.Nodes, nil
}

func listed(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return formatList(words)
}

func (g *Grant) readFor(n Node) error {
	nodes, err := texts(n)
	for _, e := range nodes {
		g.For = append(g.For, e.Value)
	}
	return err
}

// written returns the options of the line in their notation.
func (g *Grant) written() map[string]string {
	out := map[string]string{}
	form, _ := formOf(g.Family)
	for key, o := range form.options {
		if text := o.write(g); text != "" {
			out[key] = text
		}
	}
	return out
}

func (g *Grant) readAsk(n Node) error {
	switch {
	case n.Kind == Scalar && n.Value == "caller" && g.Family != Net:
		return failf(n.Line, "ask: caller is for net: write ask: true, and the operator is asked")
	case n.Kind == Scalar && n.Value == "caller":
		g.Ask, g.AskCaller = true, true
	case n.Kind == Scalar && (n.Value == "true" || n.Value == "false"):
		g.Ask = n.Value == "true"
	default:
		return failf(n.Line, "ask is true, false or caller")
	}
	return nil
}

func (g *Grant) writeAsk() string {
	switch {
	case g.AskCaller:
		return "caller"
	case g.Ask:
		return "true"
	}
	return ""
}

func (g *Grant) readPrivate(n Node) error {
	if n.Kind != Scalar || n.Value != "true" && n.Value != "false" {
		return failf(n.Line, "private is true or false: whether the host may be in a private network")
	}
	address := g.address()
	if address == nil {
		return failf(n.Line, "private is for addresses, and this line allows forms: remove it")
	}
	address.private = n.Value == "true"
	return nil
}

func (g *Grant) writePrivate() string {
	if address := g.address(); address != nil && address.private {
		return "true"
	}
	return ""
}
