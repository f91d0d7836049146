package grant

import (
	"slices"
	"strconv"
	"strings"
)

// option is a named option of a line.
type option struct {
	families []Family
	read     func(*Grant, Node) error
	write    func(*Grant) string // empty if the option is not set
}

// options returns all options by name. Those of unsupported families are not included.
func options() map[string]option {
	return map[string]option{
		"ask":  {[]Family{Net, FS}, (*Grant).readAsk, (*Grant).writeAsk},
		"body": {[]Family{Net}, sizeOption(func(g *Grant) *int64 { return &g.net.body }), writeSize(func(g *Grant) int64 { return g.net.body })},
		"quota": {[]Family{FS}, sizeOption(func(g *Grant) *int64 { return &g.fs.quota }),
			writeSize(func(g *Grant) int64 { return g.fs.quota })},
		"files":      {[]Family{FS}, (*Grant).readFiles, (*Grant).writeFiles},
		"any":        {[]Family{Tools}, (*Grant).readAny, (*Grant).writeAny},
		"to":         {[]Family{SecretFamily}, (*Grant).readTo, (*Grant).writeTo},
		"as":         {[]Family{SecretFamily}, (*Grant).readAs, (*Grant).writeAs},
		"from":       {[]Family{SecretFamily}, (*Grant).readFrom, (*Grant).writeFrom},
		"reveal":     {[]Family{SecretFamily}, (*Grant).readReveal, (*Grant).writeReveal},
		"for":        {[]Family{Net, FS, KV, Sampling, Elicitation, Roots, SecretFamily, Tools}, (*Grant).readFor, func(g *Grant) string { return listed(g.For) }},
		"within":     {[]Family{Net, FS}, (*Grant).readWithin, (*Grant).writeWithin},
		"redirects":  {[]Family{Net}, (*Grant).readRedirects, (*Grant).writeRedirects},
		"idempotent": {[]Family{Net}, (*Grant).readIdempotent, (*Grant).writeIdempotent},
		"private":    {[]Family{Net, Elicitation}, (*Grant).readPrivate, (*Grant).writePrivate},
		"mode":       {[]Family{FS}, (*Grant).readMode, (*Grant).writeMode},
	}
}

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
	known := options()
	for _, key := range sortedKeys(nodes) {
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
	for _, key := range sortedKeys(known) {
		if slices.Contains(known[key].families, f) && !laterOption(f, key) {
			names = append(names, key)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// check finds options that do not fit the value of the line.
func (g *Grant) check() error {
	switch {
	case g.Family == SecretFamily:
		return g.checkSecret()
	case g.Family == FS && g.fs.base == roots && len(g.fs.within) == 0:
		return failf(g.Line, "{roots} come from the client: write within: [~/work], the folders that they are cut to")
	case g.Family == FS && g.fs.base != roots && len(g.fs.within) > 0:
		return failf(g.Line, "within is for a line with {roots}: remove it")
	case g.rule().private && !g.rule().namesHost():
		return failf(g.Line, "private is for a line that spells its host out: write the host without stars and braces, in within where the line has {args.NAME:url}")
	case g.Family == Net && g.net.url == nil && (len(g.net.within) > 0 || g.net.public):
		return failf(g.Line, "within and redirects are for a line with {args.NAME:url}: remove them")
	}
	return nil
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

func (g *Grant) readWithin(n Node) error {
	nodes, err := texts(n)
	for _, e := range nodes {
		if err == nil && g.Family == Net {
			var r netRule
			r, err = parseNet("GET "+e.Value, e.Line)
			g.net.within = append(g.net.within, r)
		} else if err == nil {
			var r fsRule
			r, err = parseFS("read "+e.Value+"/**", e.Line)
			g.fs.within = append(g.fs.within, r)
		}
	}
	if err == nil && slices.ContainsFunc(nodes, func(e Node) bool { return strings.Contains(e.Value, "{") }) {
		return failf(n.Line, "within holds no braces: write the places themselves")
	}
	return err
}

func (g *Grant) writeWithin() string {
	var words []string
	for _, r := range g.net.within {
		words = append(words, r.address())
	}
	for _, r := range g.fs.within {
		words = append(words, strings.TrimSuffix(strings.TrimPrefix(r.String(), "read "), "/**"))
	}
	return listed(words)
}

func (g *Grant) readRedirects(n Node) error {
	if n.Kind != Scalar || n.Value != "public" {
		return failf(n.Line, `redirects is "public": anywhere in the public web; without it they stay at the host`)
	}
	g.net.public = true
	return nil
}

func (g *Grant) writeRedirects() string {
	if g.net.public {
		return "public"
	}
	return ""
}

// written returns the options of the line in their notation.
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
		return FormatSize(of(g))
	}
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

func (g *Grant) readMode(n Node) error {
	if n.Kind != Scalar || n.Value != "direct" || g.fs.op != Write {
		return failf(n.Line, `mode is "direct", of a line that allows to write`)
	}
	g.fs.direct = true
	return nil
}

func (g *Grant) readIdempotent(n Node) error {
	if n.Kind != Scalar || n.Value != "true" && n.Value != "false" {
		return failf(n.Line, "idempotent is true or false: whether a request with an unknown outcome may be sent again")
	}
	g.net.idempotent = n.Value == "true"
	return nil
}

func (g *Grant) readPrivate(n Node) error {
	if n.Kind != Scalar || n.Value != "true" && n.Value != "false" {
		return failf(n.Line, "private is true or false: whether the host may be in a private network")
	}
	if g.Family == Elicitation && g.url == nil {
		return failf(n.Line, "private is for addresses, and this line allows forms: remove it")
	}
	g.rule().private = n.Value == "true"
	return nil
}

func (g *Grant) writePrivate() string {
	if g.rule().private {
		return "true"
	}
	return ""
}

func (g *Grant) writeIdempotent() string {
	if g.net.idempotent {
		return "true"
	}
	return ""
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
