package registry

import (
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// entries is what a generation offers under its configuration.
type entries struct {
	tools     []*Tool
	prompts   []*Prompt
	resources []*Resource
	templates []*Template

	published map[entryKey]bool
	problems  []string // what was left out, and why
	shown     *choice  // of the plugin, when this was made
}

// publisher turns a manifest into entries.
type publisher struct {
	entries
	from   *generation
	config Config
	names  map[kind]map[string]string // public name → local name
	used   map[string]bool            // the words of publish.only and publish.hide that name something
}

// publish decides what of its manifest g offers, under its configuration and what the plugin itself
// shows and hides.
func (g *generation) publish() {
	m := g.manifest
	p := publisher{
		entries: entries{published: map[entryKey]bool{}, problems: slices.Clone(m.Problems), shown: g.choice()},
		from:    g, config: g.config,
		names: map[kind]map[string]string{kindTool: {}, kindPrompt: {}},
		used:  map[string]bool{},
	}
	for _, d := range m.tools {
		p.tool(d)
	}
	for _, d := range m.prompts {
		p.prompt(d)
	}
	for _, d := range m.resources {
		p.resource(d)
	}
	for _, d := range m.templates {
		p.template(d)
	}
	p.unused()
	g.entries.Store(&p.entries)
}

func (p *publisher) tool(d declared) {
	name, ok := p.name(kindTool, d)
	if !ok {
		return
	}
	p.tools = append(p.tools, newTool(name, d.id, renamed(d.members, name), p.from))
}

func (p *publisher) prompt(d declared) {
	name, ok := p.name(kindPrompt, d)
	if !ok {
		return
	}
	p.prompts = append(p.prompts, &Prompt{
		Name: name, Local: d.id, Plugin: p.from.plugin.name, Definition: renamed(d.members, name),
		local: rawjson.AppendString(nil, d.id), from: p.from,
	})
}

func (p *publisher) resource(d declared) {
	if !p.uri(kindResource, d) {
		return
	}
	p.resources = append(p.resources, &Resource{
		URI: d.id, Plugin: p.from.plugin.name, Definition: d.members.Append(nil), from: p.from,
	})
}

func (p *publisher) template(d declared) {
	if !p.uri(kindTemplate, d) {
		return
	}
	p.templates = append(p.templates, &Template{
		URITemplate: d.id, Plugin: p.from.plugin.name, Definition: d.members.Append(nil),
		pattern: d.pattern, from: p.from,
	})
}

// name decides the public name of a tool or prompt; false leaves it out.
func (p *publisher) name(k kind, d declared) (string, bool) {
	if !p.wanted(k, d) {
		return "", false
	}
	public := publicName(p.from.plugin.name, d.id, p.config.prefixed())
	if first, taken := p.names[k][public]; taken {
		p.problem("%s %q is left out: its public name %s is that of %q already", k, d.id, public, first)
		return "", false
	}
	p.names[k][public] = d.id
	p.published[entryKey{k, d.id}] = true
	return public, true
}

// uri decides whether a resource or template is published.
func (p *publisher) uri(k kind, d declared) bool {
	if !p.wanted(k, d) {
		return false
	}
	key := entryKey{k, d.id}
	if p.published[key] {
		p.problem("%s %q is left out: it is there already", k, d.id)
		return false
	}
	if err := checkFile(k, d, p.config.Grants, p.from.places); err != nil {
		p.problem("%s %q is left out: %v", k, d.id, err)
		return false
	}
	p.published[key] = true
	return true
}

// wanted holds publish.only, publish.hide, the manifest's own "hidden", and what the plugin chose.
func (p *publisher) wanted(k kind, d declared) bool {
	only, hide := slices.Contains(p.config.Only, d.id), slices.Contains(p.config.Hide, d.id)
	if only || hide {
		p.used[d.id] = true
	}
	shown := !d.hidden
	if chosen, ok := p.shown.has(k, d.id); ok {
		shown = chosen
	}
	return shown && !hide && (only || len(p.config.Only) == 0)
}

// unused reports the words of the publish lines that name nothing: most often a misspelling.
func (p *publisher) unused() {
	for _, word := range slices.Concat(p.config.Only, p.config.Hide) {
		if !p.used[word] {
			p.problem("publish names %q, which this plugin does not have", word)
		}
	}
}

func (p *publisher) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// renamed is a definition with another name, all else as the plugin wrote it.
func renamed(members rawjson.Object, name string) []byte {
	o := slices.Clone(members)
	o.Set("name", rawjson.AppendString(nil, name))
	return o.Append(nil)
}
