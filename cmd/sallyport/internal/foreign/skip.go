package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// maxPattern limits a pattern of names, in bytes, and with it the memory of its compiled form.
const maxPattern = 1024

// skip is a pattern of names that are not published.
type skip struct {
	grant.Node
	kind  string // the key of its list
	where string // that key in remarks
}

// skip reads patterns of hidden names.
func (p *Plugin) skip(n grant.Node, where string) {
	if n.Kind != grant.List && !null(n) {
		p.fail(n, "%s: want a list of patterns", where)
	}
	for _, e := range n.Nodes {
		if e.Kind != grant.Scalar || len(e.Value) > maxPattern || len(p.skips) == maxGrants {
			p.fail(e, "%s: want a list of at most %d patterns, each of at most %d bytes", where, maxGrants, maxPattern)
			return
		}
		p.skips = append(p.skips, skip{e, n.Key, where})
	}
}

// Hidden returns the names for publish.hide, of those that a plugin offers, with a remark for each pattern. An invalid
// pattern is an error: the plugin would publish more than before.
func (p *Plugin) Hidden(o Offer) (hidden []string, remarks []Remark, err error) {
	for _, s := range p.skips {
		if regexp.QuoteMeta(s.Value) == s.Value {
			hidden = append(hidden, s.Value)
			continue
		}
		matches, err := pattern(s.Value)
		if err != nil {
			return nil, nil, &grant.ParseError{Line: s.Line, Message: fmt.Sprintf("%s: %.200q: %v: correct it, or list the names", s.where, s.Value, err)}
		}
		var found []string
		for _, names := range o.names(s.kind) {
			if matches.MatchString(names[0]) || matches.MatchString(names[1]) {
				found = append(found, names[1])
			}
		}
		hidden = append(hidden, found...)
		if len(found) == 0 {
			found = []string{"nothing"}
		}
		remarks = append(remarks, Remark{s.Line, fmt.Sprintf("%s: %.200q stands for %s now; names that come later are not hidden", s.where, s.Value, strings.Join(found, ", "))})
	}
	slices.Sort(hidden)
	return slices.Compact(hidden), remarks, nil
}

// pattern compiles a pattern, which matches whole names unless it has an anchor at either end.
func pattern(text string) (*regexp.Regexp, error) {
	if !strings.HasPrefix(text, "^") && !strings.HasPrefix(text, `\A`) && !strings.HasSuffix(text, "$") && !strings.HasSuffix(text, `\z`) {
		text = "^" + text + "$"
	}
	return regexp.Compile(text)
}

// names returns the names of the list of a key, each with the name for publish.hide.
func (o Offer) names(key string) [][2]string {
	list := o.Tools
	switch key {
	case "skip_resources":
		return o.Resources
	case "skip_resource_templates":
		return o.Templates
	case "skip_prompts":
		list = o.Prompts
	}
	var all [][2]string
	for _, name := range list {
		all = append(all, [2]string{name, name})
	}
	return all
}
