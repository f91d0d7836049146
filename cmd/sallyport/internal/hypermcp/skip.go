package hypermcp

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// errNoFile is returned when a pattern cannot be resolved without the module.
var errNoFile = errors.New("the module is not there to try it on")

// skip resolves patterns of hidden names to names. Without the plugin's file a pattern cannot be resolved, and the
// plugin is disabled, since it would publish more than before.
func (p *plugin) skip(n grant.Node, where string) {
	for _, e := range p.texts(n, where) {
		if regexp.QuoteMeta(e.Value) == e.Value {
			p.add(e.Value)
			continue
		}
		matches, err := pattern(e.Value)
		if err != nil {
			p.remark(e, "%s: %.200q is not carried over: %v", where, e.Value, err)
			p.turnOff()
			continue
		}
		offered, err := p.offered(n.Key)
		if err != nil {
			p.remark(e, "%s: %.200q is not carried over: %v; list the names it stands for under publish.hide, and remove the line disabled", where, e.Value, err)
			p.turnOff()
			continue
		}
		p.fill(e, where, matches, offered)
	}
}

// fill hides the names that a pattern matches now.
func (p *plugin) fill(e grant.Node, where string, matches *regexp.Regexp, offered [][2]string) {
	var hidden []string
	for _, o := range offered {
		if matches.MatchString(o[0]) || matches.MatchString(o[1]) {
			p.add(o[1])
			hidden = append(hidden, o[1])
		}
	}
	if len(hidden) == 0 {
		hidden = []string{"nothing"}
	}
	p.remark(e, "%s: %.200q stands for %s now; names that come later are not hidden", where, e.Value, strings.Join(hidden, ", "))
}

func (p *plugin) add(name string) {
	if !slices.Contains(p.hide, name) {
		p.hide = append(p.hide, name)
	}
}

func (p *plugin) turnOff() {
	if p.off == "" {
		p.off = "its published tools differ from hyper-mcp's"
	}
}

// pattern compiles a pattern, which matches whole names unless it has an anchor at either end.
func pattern(text string) (*regexp.Regexp, error) {
	if !strings.HasPrefix(text, "^") && !strings.HasPrefix(text, `\A`) && !strings.HasSuffix(text, "$") && !strings.HasSuffix(text, `\z`) {
		text = "^" + text + "$"
	}
	return regexp.Compile(text)
}

// offered returns the plugin's names of one kind: name, and the name in publish.hide.
func (p *plugin) offered(key string) ([][2]string, error) {
	if p.Offer == nil || p.absent {
		return nil, errNoFile
	}
	o, err := p.Offer(p.source)
	if err != nil {
		return nil, err
	}
	switch key {
	case "skip_resources":
		return o.Resources, nil
	case "skip_resource_templates":
		return o.Templates, nil
	}
	list := o.Tools
	if key == "skip_prompts" {
		list = o.Prompts
	}
	var all [][2]string
	for _, name := range list {
		all = append(all, [2]string{name, name})
	}
	return all, nil
}
