package hypermcp

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// errNoFile is why a pattern cannot be tried.
var errNoFile = errors.New("the module is not there to try it on")

// skip turns patterns of names that are not published into names. A pattern needs the plugin's file to
// be tried on; without it the plugin stays off, for it would publish more than before.
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

// fill hides whatever a pattern matches now.
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
		p.off = "what it publishes is not yet what it was"
	}
}

// pattern compiles a pattern, which means a whole name unless it has an anchor at either end.
func pattern(text string) (*regexp.Regexp, error) {
	if !strings.HasPrefix(text, "^") && !strings.HasPrefix(text, `\A`) && !strings.HasSuffix(text, "$") && !strings.HasSuffix(text, `\z`) {
		text = "^" + text + "$"
	}
	return regexp.Compile(text)
}

// offered is what the plugin publishes of one kind, name and what publish.hide calls it.
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
