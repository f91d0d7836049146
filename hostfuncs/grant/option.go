package grant

import (
	"slices"
	"strconv"
	"strings"
)

// option is one word that a line may carry after what it allows.
type option struct {
	families []Family
	read     func(*Grant, Node) error
	write    func(*Grant) string // empty if the line does not say
}

// options are all words, by name. Those of a family that is not there yet are not there either.
func options() map[string]option {
	return map[string]option{
		"ask":  {[]Family{Net, FS}, (*Grant).readAsk, (*Grant).writeAsk},
		"body": {[]Family{Net}, sizeOption(func(g *Grant) *int64 { return &g.net.body }), writeSize(func(g *Grant) int64 { return g.net.body })},
		"quota": {[]Family{FS}, sizeOption(func(g *Grant) *int64 { return &g.fs.quota }),
			writeSize(func(g *Grant) int64 { return g.fs.quota })},
		"files": {[]Family{FS}, (*Grant).readFiles, (*Grant).writeFiles},
		"mode":  {[]Family{FS}, (*Grant).readMode, (*Grant).writeMode},
	}
}

// laterOption are the options of the language that this version does not enforce.
func laterOption(f Family, key string) bool {
	switch key {
	case "for":
		return true
	case "redirects", "proxy", "idempotent":
		return f == Net
	case "mode", "quota", "files", "within", "as", "private":
		return f == FS
	}
	return false
}

func (g *Grant) parseOptions(nodes map[string]Node) error {
	known := options()
	for _, key := range sorted(nodes) {
		n := nodes[key]
		o, found := known[key]
		switch {
		case !found && laterOption(g.Family, key):
			return failf(n.Line, "option %q of %s is not available in this version: remove it", key, g.Family)
		case !found || !slices.Contains(o.families, g.Family):
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
	known := options()
	for _, key := range sorted(known) {
		if slices.Contains(known[key].families, f) && !laterOption(f, key) {
			names = append(names, key)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// written are the options of the line, as they are written.
func (g *Grant) written() map[string]string {
	out := map[string]string{}
	for key, o := range options() {
		if text := o.write(g); text != "" {
			out[key] = text
		}
	}
	return out
}

func sizeOption(at func(*Grant) *int64) func(*Grant, Node) error {
	return func(g *Grant, n Node) error {
		size, err := ParseSize(n.Value)
		if n.Kind != Scalar || err != nil {
			return failf(n.Line, "%s is a size, such as 64KiB", n.Key)
		}
		*at(g) = size
		return nil
	}
}

func writeSize(of func(*Grant) int64) func(*Grant) string {
	return func(g *Grant) string {
		if of(g) == 0 {
			return ""
		}
		return formatSize(of(g))
	}
}

func (g *Grant) readAsk(n Node) error {
	switch {
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

func (g *Grant) readMode(n Node) error {
	if n.Kind != Scalar || n.Value != "direct" || g.fs.op != Write {
		return failf(n.Line, `mode is "direct", of a line that allows to write`)
	}
	g.fs.direct = true
	return nil
}

func (g *Grant) writeMode() string {
	if g.fs.direct {
		return "direct"
	}
	return ""
}

func (g *Grant) readFiles(n Node) (err error) {
	g.fs.files, err = parseCount(n)
	return err
}

func (g *Grant) writeFiles() string {
	if g.fs.files == 0 {
		return ""
	}
	return strconv.Itoa(g.fs.files)
}
