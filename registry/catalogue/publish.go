package catalogue

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/names"
)

// Plugin is one plugin and what decides which entries of its manifest are published.
type Plugin struct {
	Name     string
	Manifest *manifest.Manifest
	Prefix   bool     // public names begin with the plugin's
	Only     []string // publish nothing else: local names, URIs and templates; empty is all
	Hide     []string // do not publish: local names, URIs and templates
	Chosen   *Choices // what the plugin itself shows, to whom
	// Approved reports whether an entry, by manifest.Key, is defined as it was approved; nil: all are.
	Approved func(key string) bool
	Grants   *grant.Set // file: resources need one to read them; with the plugin's name and workspace filled in
	Places   grant.Places
	Server   Server       // answers for what is published
	Skill    *Skill       // that the plugin is about; nil for none
	Logger   *slog.Logger // hears of schemas that are not enforced in full; nil: nobody does
}

// Offer is what one plugin publishes. It never changes.
type Offer struct {
	Problems []string // what was left out, and why, after those of the manifest
	// Ungranted is what was left out for want of a grant, which an operator may well intend.
	Ungranted []string
	Chosen    *Choices // of the plugin, when this was made

	tools     []*Tool
	prompts   []*Prompt
	resources []*Resource
	templates []*Template

	published map[entryKey]bool
	audiences map[entryKey]*audience // of those that not all callers see
	hide      []string
	server    Server
	owner     string // the plugin's name
	skill     *Skill
}

// entryKey is an entry within its plugin: a tool and a prompt may have the same name.
type entryKey struct {
	kind manifest.Kind
	id   string // local name, URI or template
}

// Publishes holds the operator's publish lines at the time of a call: against entries of an older version, and
// against a template that matches a hidden resource, in whatever spelling.
// Who calls sees what the plugin shows to that caller.
func (o *Offer) Publishes(principal string, r Request) bool {
	key := entryKey{r.Kind, r.Entry}
	return o.published[key] && o.audiences[key].has(principal) && !(r.URI != "" && hides(o.hide, r.URI))
}

// Serves reports whether a URI is that of a resource of the offer, by itself or by a template.
func (o *Offer) Serves(uri string) bool {
	if o.published[entryKey{manifest.Resource, uri}] {
		return true
	}
	matches := func(t *Template) bool { return t.pattern.Match(uri) }
	return slices.ContainsFunc(o.templates, matches) && !hides(o.hide, uri)
}

// publisher turns a manifest into an offer.
type publisher struct {
	Offer
	plugin *Plugin
	names  map[manifest.Kind]map[string]string // public name → local name
	used   map[string]bool                     // the words of Only and Hide that name something
}

// Publish decides what of its manifest a plugin offers.
func Publish(plugin Plugin) *Offer {
	m := plugin.Manifest
	if plugin.Logger == nil {
		plugin.Logger = slog.New(slog.DiscardHandler)
	}
	p := publisher{
		Offer: Offer{published: map[entryKey]bool{}, audiences: map[entryKey]*audience{}, Problems: slices.Clone(m.Problems), Chosen: plugin.Chosen,
			hide: plugin.Hide, server: plugin.Server, owner: plugin.Name, skill: plugin.Skill},
		plugin: &plugin,
		names:  map[manifest.Kind]map[string]string{manifest.Tool: {}, manifest.Prompt: {}},
		used:   map[string]bool{},
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
	offer := p.Offer // without what made it
	return &offer
}

func (p *publisher) tool(d manifest.Entry) {
	name, ok := p.name(manifest.Tool, d)
	if !ok {
		return
	}
	t := newTool(name, d.ID, renamed(d.Members, name), p.plugin)
	t.AsksFirst, t.audience = d.AsksFirst, p.audiences[entryKey{manifest.Tool, d.ID}]
	p.tools = append(p.tools, t)
}

func (p *publisher) prompt(d manifest.Entry) {
	name, ok := p.name(manifest.Prompt, d)
	if !ok {
		return
	}
	p.prompts = append(p.prompts, &Prompt{
		Name: name, Local: d.ID, Plugin: p.plugin.Name, Definition: renamed(d.Members, name),
		local: rawjson.AppendString(nil, d.ID), server: p.plugin.Server, audience: p.audiences[entryKey{manifest.Prompt, d.ID}],
	})
}

func (p *publisher) resource(d manifest.Entry) {
	if !p.uri(manifest.Resource, d) {
		return
	}
	p.resources = append(p.resources, &Resource{
		URI: d.ID, Plugin: p.plugin.Name, Definition: d.Members.Append(nil), server: p.plugin.Server, audience: p.audiences[entryKey{manifest.Resource, d.ID}],
	})
}

func (p *publisher) template(d manifest.Entry) {
	if !p.uri(manifest.Template, d) {
		return
	}
	p.templates = append(p.templates, &Template{
		URITemplate: d.ID, Plugin: p.plugin.Name, Definition: d.Members.Append(nil),
		pattern: d.Pattern, server: p.plugin.Server, audience: p.audiences[entryKey{manifest.Template, d.ID}],
	})
}

// name decides the public name of a tool or prompt; false leaves it out.
func (p *publisher) name(k manifest.Kind, d manifest.Entry) (string, bool) {
	if !p.wanted(k, d) {
		return "", false
	}
	public := names.Public(p.plugin.Name, d.ID, p.plugin.Prefix)
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
	if err := checkFile(k, d, p.plugin.Grants, p.plugin.Places); err != nil {
		p.Ungranted = append(p.Ungranted, fmt.Sprintf("%s %q is left out: %v", k, d.ID, err))
		return false
	}
	p.published[entryKey{k, d.ID}] = true
	return true
}

// approved holds back what is defined in another way than when it was approved.
func (p *publisher) approved(k manifest.Kind, d manifest.Entry) bool {
	if p.plugin.Approved == nil || p.plugin.Approved(manifest.Key(k, d.ID)) {
		return true
	}
	p.problem("%s %q is held: its definition is not the one that was approved; sallyport approve %s shows the difference", k, d.ID, p.plugin.Name)
	return false
}

// wanted holds Only, Hide, the manifest's own "hidden", and what the plugin chose.
func (p *publisher) wanted(k manifest.Kind, d manifest.Entry) bool {
	only, hide := slices.Contains(p.plugin.Only, d.ID), slices.Contains(p.plugin.Hide, d.ID)
	if only || hide {
		p.used[d.ID] = true
	}
	if k == manifest.Resource {
		hide = hide || hides(p.plugin.Hide, d.ID)
	}
	audience, shown := p.plugin.Chosen.audience(k, d.ID, !d.Hidden)
	if audience != nil {
		p.audiences[entryKey{k, d.ID}] = audience
	}
	return shown && !hide && (only || len(p.plugin.Only) == 0) && p.approved(k, d)
}

// unused reports the words of the publish lines that name nothing: most often a misspelling.
func (p *publisher) unused() {
	for _, word := range slices.Concat(p.plugin.Only, p.plugin.Hide) {
		if !p.used[word] {
			p.problem("publish names %q, which this plugin does not have", word)
		}
	}
}

func (p *publisher) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// renamed is a definition with another name, all else as the plugin wrote it.
func renamed(members rawjson.Object, name string) []byte {
	o := slices.Clone(members)
	o.Set("name", rawjson.AppendString(nil, name))
	return o.Append(nil)
}
