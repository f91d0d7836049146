package grant

// maxGrants is the maximum number of lines of one plugin, since each effect is compared with all of them.
const maxGrants = 1000

// Parse reads the elements of a grants list. Each is a line of text, or a map of the family and its options. The error
// is a *ParseError.
func Parse(nodes []Node) (*Set, error) {
	if len(nodes) > maxGrants {
		return nil, failf(nodes[maxGrants].Line, "more than %d grants for one plugin", maxGrants)
	}
	s := &Set{}
	for _, n := range nodes {
		g, err := held(parseNode(n))
		if err != nil {
			return nil, err
		}
		s.lines = append(s.lines, g)
	}
	return s, checkSecrets(s.lines)
}

// ParseNode reads one element of a grants list by itself, such as the want of a plugin.
func ParseNode(n Node) (Grant, error) { return held(parseNode(n)) }

// held rejects a line that this version would not enforce.
func held(g Grant, err error) (Grant, error) {
	if err != nil {
		return g, err
	}
	if later(g.Family) {
		return g, notYet(g)
	}
	for key := range g.written() {
		if laterOption(g.Family, key) {
			return g, failf(g.Line, "option %q of %s is not available in this version: remove it", key, g.Family)
		}
	}
	return g, nil
}

func notYet(g Grant) error {
	return failf(g.Line, "%q grants are not available in this version: remove the line", g.Family)
}

func parseNode(n Node) (Grant, error) {
	switch n.Kind {
	case Scalar:
		return parseLine(n.Value, n.Line)
	case Map:
		return parseMap(n)
	}
	return Grant{}, failf(n.Line, "a grant is one line, not a list: write one element for each")
}

// parseMap reads {family: value, option: value…} and {deny: …}.
func parseMap(n Node) (Grant, error) {
	var head *Node
	options := map[string]Node{}
	for i, m := range n.Nodes {
		if _, twice := options[m.Key]; twice || head != nil && head.Key == m.Key {
			return Grant{}, failf(m.Line, "%q is there twice", m.Key)
		}
		if !isHead(m.Key) {
			options[m.Key] = m
			continue
		}
		if head != nil {
			return Grant{}, failf(m.Line, "one grant cannot be both %q and %q: write two elements", head.Key, m.Key)
		}
		head = &n.Nodes[i]
	}
	if head == nil {
		return Grant{}, noHead(n)
	}
	return parseHead(*head, options)
}

func noHead(n Node) error {
	if len(n.Nodes) == 0 {
		return failf(n.Line, "empty grant: write one of %s", wordsOf())
	}
	return unknownFamily(n.Nodes[0].Line, n.Nodes[0].Key)
}

func unknownFamily(line int, name string) error {
	return failf(line, "unknown grant %q: write one of %s", name, wordsOf())
}

func parseHead(head Node, options map[string]Node) (Grant, error) {
	g := Grant{Line: head.Line, Family: Family(head.Key)}
	if head.Key == "deny" {
		return parseDeny(head, options)
	}
	form, ok := formOf(g.Family)
	if !ok {
		return g, notYet(g)
	}
	var err error
	if g.rule, err = form.parse(head); err != nil {
		return g, err
	}
	if err := g.parseOptions(options); err != nil {
		return g, err
	}
	if r, ok := g.rule.(checked); ok {
		err = r.check(g.Line)
	}
	return g, err
}

// parseDeny reads a line of text, or a map of the family alone.
func parseDeny(n Node, options map[string]Node) (Grant, error) {
	for key, o := range options {
		if key == "who" {
			return Grant{}, failf(o.Line, "a deny line holds for every caller: leave who out, and write it on the lines that grant")
		}
		return Grant{}, failf(o.Line, "a deny line takes no option %q: remove it", key)
	}
	inner := n
	inner.Key = ""
	g, err := parseNode(inner)
	switch {
	case err != nil:
		return g, err
	case g.Deny:
		return g, failf(n.Line, "deny is there twice")
	case g.Family == Config:
		return g, failf(n.Line, "config cannot be denied: remove the value")
	case !g.deniable():
		return g, failf(n.Line, "%s cannot be denied: remove the line that grants it", g.Family)
	case len(g.Who) > 0:
		return g, failf(n.Line, "a deny line holds for every caller: leave who out, and write it on the lines that grant")
	case len(g.bindings()) > 0 || g.fs() != nil && g.fs().base == roots:
		return g, failf(n.Line, "a deny line holds for every call: write the value itself in place of braces")
	case len(g.written()) > 0:
		return g, failf(n.Line, "a deny line takes no options: remove them")
	}
	g.Deny = true
	return g, nil
}

func (g *Grant) deniable() bool {
	form, _ := formOf(g.Family)
	return form.deniable
}
