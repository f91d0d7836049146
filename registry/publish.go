package registry

import (
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/names"
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
	names  map[manifest.Kind]map[string]string // public name → local name
	used   map[string]bool                     // the words of publish.only and publish.hide that name something
}

// publish decides what of its manifest g offers, under its configuration and what the plugin itself
// shows and hides.
func (g *generation) publish() {
	m := g.manifest
	p := publisher{
		entries: entries{published: map[entryKey]bool{}, problems: slices.Clone(m.Problems), shown: g.choice()},
		from:    g, config: g.config,
		names: map[manifest.Kind]map[string]string{manifest.Tool: {}, manifest.Prompt: {}},
		used:  map[string]bool{},
	}
	for _, d := range m.Entries(manifest.Tool) {
		p.tool(d)
	}
	for _, d := range m.Entries(manifest.Prompt) {
		p.prompt(d)
	}
	for _, d := range m.Entries(manifest.Resource) {
		p.resource(d)
	}
	for _, d := range m.Entries(manifest.Template) {
		p.template(d)
	}
	p.unused()
	g.entries.Store(&p.entries)
}

func (p *publisher) tool(d manifest.Entry) {
	name, ok := p.name(manifest.Tool, d)
	if !ok {
		return
	}
	t := newTool(name, d.ID, renamed(d.Members, name), p.from)
	t.AsksFirst = d.AsksFirst
	p.tools = append(p.tools, t)
}

func (p *publisher) prompt(d manifest.Entry) {
	name, ok := p.name(manifest.Prompt, d)
	if !ok {
		return
	}
	p.prompts = append(p.prompts, &Prompt{
		Name: name, Local: d.ID, Plugin: p.from.plugin.name, Definition: renamed(d.Members, name),
		local: rawjson.AppendString(nil, d.ID), from: p.from,
	})
}

func (p *publisher) resource(d manifest.Entry) {
	if !p.uri(manifest.Resource, d) {
		return
	}
	p.resources = append(p.resources, &Resource{
		URI: d.ID, Plugin: p.from.plugin.name, Definition: d.Members.Append(nil), from: p.from,
	})
}

func (p *publisher) template(d manifest.Entry) {
	if !p.uri(manifest.Template, d) {
		return
	}
	p.templates = append(p.templates, &Template{
		URITemplate: d.ID, Plugin: p.from.plugin.name, Definition: d.Members.Append(nil),
		pattern: d.Pattern, from: p.from,
	})
}

// name decides the public name of a tool or prompt; false leaves it out.
func (p *publisher) name(k manifest.Kind, d manifest.Entry) (string, bool) {
	if !p.wanted(k, d) {
		return "", false
	}
	public := names.Public(p.from.plugin.name, d.ID, p.config.prefixed())
	if first, taken := p.names[k][public]; taken {
		p.problem("%s %q is left out: its public name %s is that of %q already", k, d.ID, public, first)
		return "", false
	}
	p.names[k][public] = d.ID
	p.published[entryKey{k, d.ID}] = true
	return public, true
}

// uri decides whether a resource or template is published.
func (p *publisher) uri(k manifest.Kind, d manifest.Entry) bool {
	if !p.wanted(k, d) {
		return false
	}
	if err := checkFile(k, d, p.config.Grants, p.from.places); err != nil {
		p.problem("%s %q is left out: %v", k, d.ID, err)
		return false
	}
	p.published[entryKey{k, d.ID}] = true
	return true
}

// approved holds back what is defined in another way than when it was approved.
func (p *publisher) approved(k manifest.Kind, d manifest.Entry) bool {
	g := p.from
	key := manifest.Key(k, d.ID)
	if g.pinned == nil || g.module == nil || g.pinned[key] == g.module.Hashes()[key] {
		return true
	}
	p.problem("%s %q is held: its definition is not the one that was approved; sallyport approve %s shows the difference", k, d.ID, g.plugin.name)
	return false
}

// wanted holds publish.only, publish.hide, the manifest's own "hidden", and what the plugin chose.
func (p *publisher) wanted(k manifest.Kind, d manifest.Entry) bool {
	only, hide := slices.Contains(p.config.Only, d.ID), slices.Contains(p.config.Hide, d.ID)
	if only || hide {
		p.used[d.ID] = true
	}
	shown := !d.Hidden
	if chosen, ok := p.shown.has(k, d.ID); ok {
		shown = chosen
	}
	return shown && !hide && (only || len(p.config.Only) == 0) && p.approved(k, d)
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
