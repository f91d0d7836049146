package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry"
)

// Folder is the plugin folder as a host serves it.
type Folder struct {
	Plugins []registry.Status
	Tools   []string // public names of all tools
}

// needs compares the wants of plugins with their grants.
type needs struct {
	Subject
	Folder
	report  *Report
	answers []store.Grant
	places  grant.Places
}

// wants reports the wants of each plugin that are not met, before a call meets the denial.
func (s Subject) wants(ctx context.Context, r *Report, f Folder) {
	n := needs{Subject: s, Folder: f, report: r, answers: s.answers(ctx)}
	if home, err := os.UserHomeDir(); err == nil {
		n.places.Home = home
	}
	for _, p := range f.Plugins {
		if p.File != "" && p.State == registry.StateLoaded {
			n.plugin(p)
		}
	}
}

// answers returns the answers of the operator; none if they cannot be read, which is a finding of its own.
func (s Subject) answers(ctx context.Context) []store.Grant {
	if _, err := os.Stat(s.Settings.Text("state")); err != nil && s.Settings.Text("store") == "" {
		return nil
	}
	kept := host.OpenStore(s.Settings)
	defer kept.Close()
	answers, _ := kept.Grants(ctx)
	return answers
}

// plugin reports the unmet wants of one plugin.
func (n *needs) plugin(p registry.Status) {
	section := n.section(p.Name)
	set := section.Grants.With(n.answered(p)...).At(p.Name, section.Workspace)
	unmet := 0
	for _, text := range p.Wants {
		line, err := grant.ParseLine(text)
		if err != nil {
			continue // a want that cannot be granted is a warning of the plugin
		}
		for _, part := range line.Parts() {
			if !n.met(p.Name, part, set, section) {
				unmet++
			}
		}
	}
	unmet += n.variables(p, set)
	for _, name := range set.Lines().ToolNames() {
		if !slices.Contains(n.Tools, name) && !slices.ContainsFunc(p.Wants, func(w string) bool { return wantsTool(w, name) }) {
			n.missingTool("plugins."+p.Name+".grants", "its grants allow the tool "+name, name)
		}
	}
	if len(p.Wants)+len(p.Variables) > 0 && unmet == 0 {
		n.report.add(OK, "plugins."+p.Name+".wants", "granted")
	}
}

// section returns the settings of a plugin; those of a plugin without settings grant nothing.
func (n *needs) section(name string) settings.Plugin {
	i := slices.IndexFunc(n.Settings.Plugins, func(p settings.Plugin) bool { return p.Name == name })
	if i < 0 {
		return settings.Plugin{Name: name, Workspace: n.Settings.Text("workspace"), Grants: grant.NewSet().Under(n.Settings.Ceiling)}
	}
	return n.Settings.Plugins[i]
}

// answered returns the lines that the operator's lasting answers add for the serving bytes of a plugin.
func (n *needs) answered(p registry.Status) (lines []grant.Grant) {
	for _, a := range n.answers {
		if a.Plugin != p.Name || a.Digest != p.Digest || a.Once {
			continue
		}
		if line, err := grant.ParseLine(a.Line); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// met reports a want that the grants do not cover.
func (n *needs) met(plugin string, want grant.Grant, set *grant.Set, section settings.Plugin) bool {
	topic, line := "plugins."+plugin+".wants", want.String()
	for _, name := range (grant.Lines{want}).ToolNames() {
		if !slices.Contains(n.Tools, name) {
			n.missingTool(topic, "it wants the tool "+name, name)
			return false
		}
	}
	if _, uses := (grant.Lines{want}).UsesWorkspace(); uses && section.Workspace == "" {
		n.report.add(Warning, topic, "it wants %s, and there is no workspace", line).
			next(fmt.Sprintf("write workspace: FOLDER into %s, then %s", n.Settings.Watched(), n.grant(plugin, want)))
		return false
	}
	placed := grant.NewSet(want).At(plugin, section.Workspace).Lines()[0]
	switch c := set.Coverage(placed, n.places); {
	case c.All:
		return true
	case c.Deny != nil:
		n.report.add(Note, topic, "it wants %s, of which %s denies a part (line %d)", line, c.Deny, c.Deny.Line)
	case c.Beyond:
		n.report.add(Warning, topic, "it wants %s, which max_grants do not reach", line).
			next(fmt.Sprintf("write the line into max_grants in %s, then %s", n.Settings.Watched(), n.grant(plugin, want)))
	case proposed(want):
		n.report.add(Note, topic, "it proposes %s, which no grant sets", line).next(n.grant(plugin, want))
	case c.Some:
		n.report.add(Note, topic, "it wants %s, of which the grants allow a part", line).next(n.grant(plugin, want))
	default:
		n.report.add(Warning, topic, "it wants %s, which no grant allows", line).next(n.grant(plugin, want))
	}
	return false
}

// grant returns the command that grants a want. A config value that the plugin leaves open is VALUE.
func (n *needs) grant(plugin string, want grant.Grant) string {
	line := want.String()
	if rest, open := strings.CutSuffix(line, `""}`); open && want.Family == grant.Config {
		line = rest + "VALUE}"
	}
	return host.GrantCommand(n.Settings, plugin, line, true)
}

// proposed reports whether a want is a config value that the plugin proposes; one that it leaves open is empty.
func proposed(want grant.Grant) bool {
	for _, value := range (grant.Lines{want}).Config() {
		return value != ""
	}
	return false
}

// variables reports the variables of a command line whose secret no line grants, and returns their number.
func (n *needs) variables(p registry.Status, set *grant.Set) (unmet int) {
	given := set.Lines().Config()
	for _, variable := range slices.Sorted(maps.Keys(p.Variables)) {
		name := p.Variables[variable]
		_, plain := given[variable]
		if plain || slices.ContainsFunc(set.Secrets(), func(s grant.Secret) bool { return s.Name == name }) {
			continue
		}
		unmet++
		if slices.ContainsFunc(p.Wants, func(w string) bool { return strings.HasPrefix(w, "secret: "+name+" ") }) {
			continue // reported with its addresses
		}
		n.report.add(Warning, "plugins."+p.Name+".wants", "its variable %s is the secret %s, which no grant allows", variable, name).
			next(host.GrantCommand(n.Settings, p.Name, "secret: "+name+" {to: https://HOST/**}", true) + ", with the address of its service")
	}
	return unmet
}

// missingTool reports a tool that no plugin publishes.
func (n *needs) missingTool(topic, text, tool string) {
	owner := slices.IndexFunc(n.Plugins, func(p registry.Status) bool { return strings.HasPrefix(tool, p.Name+"-") })
	switch {
	case owner < 0:
		n.report.add(Warning, topic, "%s, which no plugin of this folder publishes", text).next(n.command("add SOURCE"))
	case n.Plugins[owner].State == registry.StateHeld:
		n.report.add(Warning, topic, "%s, and the plugin %s is held", text, n.Plugins[owner].Name).next(n.command("approve " + n.Plugins[owner].Name))
	default:
		p := n.Plugins[owner]
		n.report.add(Warning, topic, "%s, which the plugin %s (%s) does not publish", text, p.Name, p.State).
			next("sallyport inspect " + shellword.Quoted(cmp.Or(p.File, p.Name)))
	}
}

// wantsTool reports whether a want is a line with a tool.
func wantsTool(want, tool string) bool {
	line, err := grant.ParseLine(want)
	return err == nil && slices.Contains((grant.Lines{line}).ToolNames(), tool)
}
