package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry"
)

// plugins examines every plugin of the folder.
func (s Subject) plugins(ctx context.Context, r *Report) {
	if _, err := os.Stat(s.Settings.Text("dir")); err != nil || r.Count(Problem) > 0 {
		r.add(Note, "plugins", "not loaded: the folders and the configuration come first")
		return
	}
	folder, err := s.Load(ctx)
	if err != nil {
		r.add(Problem, "plugins", "%v", err)
		return
	}
	found := 0
	origins := s.origins()
	for _, p := range folder.Plugins {
		if p.File == "" {
			continue // built into the program
		}
		found++
		pluginFinding(r, p, origins[p.Name])
	}
	if found == 0 {
		r.add(Note, "plugins", "none in %s", s.Settings.Text("dir")).next("sallyport add SOURCE")
	}
	s.wants(ctx, r, folder)
}

// origins describes the sources of plugins that add installed, by name.
func (s Subject) origins() map[string]string {
	l, err := host.ReadLock(s.Settings)
	if err != nil {
		return nil // examined with the folders
	}
	defer l.Close()
	texts := map[string]string{}
	for _, name := range l.Names() {
		pin, _ := l.Pin(name)
		if o := pin.Origin; o != nil {
			texts[name] = ", from " + o.From
			if o.Signer != "" {
				texts[name] += ", signed by " + o.Signer
			}
		}
	}
	return texts
}

// pluginFinding reports the state of one plugin.
func pluginFinding(r *Report, p registry.Status, origin string) {
	topic := "plugin " + p.Name
	switch {
	case p.State == registry.StateDisabled:
		r.add(Note, topic, "disabled in the configuration")
	case p.State == registry.StateLoaded && p.Error == "":
		r.add(OK, topic, "%s%s", offered(p), origin)
	case p.State == registry.StateLoaded:
		r.add(Warning, topic, "%s", p.Error)
	case p.State == registry.StateLoading:
		r.add(Warning, topic, "it is still being read")
	default:
		r.add(Problem, topic, "%s: %s", p.State, p.Error)
	}
	for _, text := range p.Warnings {
		r.add(Note, topic, "%s", text)
	}
}

// offered describes a plugin that serves.
func offered(p registry.Status) string {
	parts := []string{strings.TrimSpace(p.Version + " " + p.Digest[:min(len(p.Digest), len("sha256:")+12)]), ui.Count(p.Tools, "tool")}
	if p.Resources > 0 {
		parts = append(parts, ui.Count(p.Resources, "resource"))
	}
	if p.Prompts > 0 {
		parts = append(parts, ui.Count(p.Prompts, "prompt"))
	}
	parts = append(parts, ui.Count(len(p.Grants), "grant"))
	return strings.Join(parts, ", ")
}

// grants reports lines of the configuration that can match nothing, and secrets without a value.
func (s Subject) grants(r *Report) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	for _, p := range s.Settings.Plugins {
		if p.Disabled {
			continue
		}
		for _, line := range p.Grants.Lines() {
			if path := missingFolder(p, line, home); path != "" {
				r.add(Warning, "plugins."+p.Name+".grants", "%s matches nothing: there is no %s (line %d)", line, path, line.Line)
			}
		}
	}
	if s.Secrets == nil {
		return
	}
	unset, err := s.Secrets()
	if err != nil {
		r.add(Warning, "secrets", "%v", err)
	}
	for _, x := range unset {
		r.add(Warning, "secret "+x.Name, "%s uses it: %s", x.Plugin, x.State).next(x.Next)
	}
}

// missingFolder returns the literal beginning of the path of a grant if neither it nor its folder exists; else "".
func missingFolder(p settings.Plugin, line grant.Grant, home string) string {
	if line.Deny {
		return ""
	}
	set := grant.NewSet(line).At(p.Name, p.Workspace)
	for _, path := range set.Files(grant.Places{Home: home}).Prefixes() {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(parent(path)); errors.Is(err, fs.ErrNotExist) {
				return path
			}
		}
	}
	return ""
}

// parent returns the folder of a path.
func parent(path string) string {
	path = strings.TrimRight(path, "/")
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return fmt.Sprintf("%c", os.PathSeparator)
}
