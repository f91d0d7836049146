package catalog

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Plugin is the input of Publish: a plugin, and the settings that select entries of its manifest.
type Plugin struct {
	Name     string
	Manifest *manifest.Manifest
	Prefix   bool     // public names have the plugin's name as prefix
	Only     []string // the only entries to publish: local names, URIs and templates; empty is all
	Hide     []string // entries not to publish: local names, URIs and templates
	Chosen   *Choices // the entries that the plugin itself shows, per principal
	// Callers limit the published entries to some callers; empty publishes them to all.
	Callers []CallerRule
	// Approved reports whether the definition of an entry, by manifest.Key, is the approved one; nil approves all.
	Approved func(key string) bool
	Grants   *grant.Set // file: resources need a read grant; the plugin's name and workspace are filled in
	Places   grant.Places
	Server   Server       // answers for the published entries
	Skill    *Skill       // the skill that the plugin is; nil for none
	Logger   *slog.Logger // logs schemas that are not enforced in full; nil discards
}

// Offer holds the entries that one plugin publishes. It is immutable.
type Offer struct {
	Problems []string // entries left out, with the reason, after the manifest's problems
	// Ungranted holds the entries left out for lack of a grant, which the operator may intend.
	Ungranted []string
	Chosen    *Choices // the plugin's choices at the time of Publish

	tools     []*Tool
	prompts   []*Prompt
	resources []*Resource
	templates []*Template

	published map[entryKey]bool
	audiences map[entryKey]*audience // of entries that not all callers see
	hide      []string
	server    Server
	owner     string // the plugin's name
	skill     *Skill
}

// entryKey identifies an entry within its plugin: a tool and a prompt may have the same name.
type entryKey struct {
	kind manifest.Kind
	id   string // local name, URI or template
}

// Publishes reports whether the entry of r is published to a caller at the time of the call. It also holds for entries
// of an older version, and for a template that matches a hidden resource in any spelling.
func (o *Offer) Publishes(id identity.Identity, r Request) bool {
	return o.sees(id, r.Kind, r.Entry) && !(r.URI != "" && hides(o.hide, r.URI))
}

// Serves reports whether a URI is a resource of the offer or matches one of its templates.
func (o *Offer) Serves(uri string) bool {
	if o.published[entryKey{manifest.Resource, uri}] {
		return true
	}
	matches := func(t *Template) bool { return t.pattern.Match(uri) }
	return slices.ContainsFunc(o.templates, matches) && !hides(o.hide, uri)
}

// publisher builds an Offer from a manifest.
type publisher struct {
	Offer
	plugin *Plugin
	names  map[manifest.Kind]map[string]string // public name → local name
	used   map[string]bool                     // the words of Only and Hide that match an entry
}

// Publish returns the entries of its manifest that a plugin offers.
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
	offer := p.Offer // do not retain the publisher
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
		local: jsonraw.AppendString(nil, d.ID), server: p.plugin.Server, audience: p.audiences[entryKey{manifest.Prompt, d.ID}],
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

// name returns the public name of a tool or prompt; false leaves it out.
func (p *publisher) name(k manifest.Kind, d manifest.Entry) (string, bool) {
	if !p.wanted(k, d) {
		return "", false
	}
	public := manifest.PublicName(p.plugin.Name, d.ID, p.plugin.Prefix)
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

// approved holds back an entry with a definition that differs from the approved one.
func (p *publisher) approved(k manifest.Kind, d manifest.Entry) bool {
	if p.plugin.Approved == nil || p.plugin.Approved(manifest.Key(k, d.ID)) {
		return true
	}
	p.problem("%s %q is held: its definition is not the one that was approved; sallyport approve %s shows the difference", k, d.ID, p.plugin.Name)
	return false
}

// wanted applies Only, Hide, the manifest's "hidden", the plugin's choice and the approved definitions.
func (p *publisher) wanted(k manifest.Kind, d manifest.Entry) bool {
	only, hide := slices.Contains(p.plugin.Only, d.ID), slices.Contains(p.plugin.Hide, d.ID)
	ruled := func(r CallerRule) bool { return slices.Contains(r.Only, d.ID) }
	if only || hide || slices.ContainsFunc(p.plugin.Callers, ruled) {
		p.used[d.ID] = true
	}
	if k == manifest.Resource {
		hide = hide || hides(p.plugin.Hide, d.ID)
	}
	audience, shown := p.plugin.Chosen.audience(k, d.ID, !d.Hidden)
	if audience = p.plugin.ruled(audience, d.ID); audience != nil {
		p.audiences[entryKey{k, d.ID}] = audience
	}
	return shown && !hide && (only || len(p.plugin.Only) == 0) && p.approved(k, d)
}

// unused reports words of the publish lines that match no entry: most often a misspelling.
func (p *publisher) unused() {
	words := slices.Concat(p.plugin.Only, p.plugin.Hide)
	for _, r := range p.plugin.Callers {
		words = append(words, r.Only...)
	}
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		if !p.used[word] {
			p.problem("publish names %q, which this plugin does not have", word)
		}
	}
}

func (p *publisher) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// renamed returns a definition with a new name and all else unchanged.
func renamed(members jsonraw.Object, name string) []byte {
	o := slices.Clone(members)
	o.Set("name", jsonraw.AppendString(nil, name))
	return o.Append(nil)
}
