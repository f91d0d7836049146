package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// State says in one word where a plugin stands.
type State string

// The states of a plugin.
const (
	StateLoading  State = "loading"  // its file is still changing, or is being read
	StateLoaded   State = "loaded"   // it serves
	StateFailed   State = "failed"   // it cannot be loaded; Error says why
	StateHeld     State = "held"     // it could be loaded, but another plugin claims its name, or nobody has approved it
	StateDisabled State = "disabled" // the operator turned it off
)

// Status is what is known of one plugin.
type Status struct {
	Name      string   `json:"name"`
	File      string   `json:"file,omitempty"`    // its path; "" for a plugin of this process
	Digest    string   `json:"digest,omitempty"`  // SHA-256 of what serves, "sha256:" and hex
	Dialect   string   `json:"dialect,omitempty"` // "go" for a plugin of this process
	State     State    `json:"state"`
	Version   string   `json:"version,omitempty"` // as the plugin says
	Error     string   `json:"error,omitempty"`   // why it failed or is held; with StateLoaded: why a newer file does not serve
	Tools     int      `json:"tools"`             // published
	Resources int      `json:"resources"`         // published, with templates
	Prompts   int      `json:"prompts"`           // published
	Warnings  []string `json:"warnings,omitempty"`

	// intended are those of Warnings that an operator may well intend; absent says that there is no file of its name in this
	// folder, which a configuration for several folders has: neither is more than a note in the log.
	intended []string
	absent   bool

	// Wants and Grants are what it announced and what the operator's file allows, as lines; who reads the list
	// over the wire does not see them.
	Wants, Grants []string `json:"-"`
	// Ceilings are the max_grants that hold for it, as lines: those of the file, then its own.
	Ceilings [][]string `json:"-"`
	Pinned   bool       `json:"-"`                 // its grants belong to bytes: those in the lock file, or those that the settings name or leave open
	Waits    string     `json:"waits,omitempty"`   // the digest of bytes that nobody has approved yet
	Keeps    string     `json:"keeps,omitempty"`   // what its state is kept for from call to call: "session", "plugin"
	Updates  string     `json:"updates,omitempty"` // what the operator approved beforehand: "dev", "same-interface"
}

// Plugins returns the status of every plugin, sorted by name and file.
func (r *Registry) Plugins() []Status {
	list := slices.Clone(r.shown.Load().status)
	for i := range list {
		list[i].Warnings = slices.Clone(list[i].Warnings)
	}
	return list
}

// Version is another value whenever Plugins may return something else; the same one costs nothing to compare.
func (r *Registry) Version() any { return r.shown.Load() }

// statusOf says where a plan stands.
func (r *Registry) statusOf(p *plan, g *generation) Status {
	s := Status{Name: p.name, File: p.path, State: StateLoaded}
	switch {
	case p.err != nil:
		s.fail(StateFailed, p.err)
	case p.config.Disabled:
		s.State = StateDisabled
	case p.held != nil:
		s.fail(StateHeld, p.held)
	case p.path == "":
		s.Dialect = "go"
	case p.waiting != "" && g != nil:
		s.Error = p.waiting
	case p.file == nil && p.isThere():
		s.State = StateLoading
	case p.file == nil:
		s.fail(StateFailed, r.missing(p))
		s.absent = p.config.Source == "" && p.extism == nil
	case p.waits != "" && p.file.err == nil:
		s.State = StateLoading
	case p.file.err != nil && g == nil:
		s.fail(StateFailed, p.file.err)
	case p.file.err != nil:
		s.Error = fmt.Sprintf("the new file does not serve, the old one does: %v", p.file.err)
	case g == nil:
		s.State = StateLoading
	}
	for _, line := range p.config.Grants.Grants() {
		s.Grants = append(s.Grants, line.String())
	}
	if l := r.opts.Lock; l != nil {
		pin, _ := l.Pin(p.name)
		s.Pinned = pin.Digest != "" && !r.wouldPin(p.name) || p.config.Digest != "" || p.config.Updates == UpdatesDev
	}
	if g != nil {
		s.describe(g)
	}
	s.Waits, s.Updates = p.waits, string(p.config.Updates)
	s.Warnings = append(s.Warnings, p.extismWarnings()...)
	return s
}

func (s *Status) fail(state State, err error) { s.State, s.Error = state, err.Error() }

func (s *Status) describe(g *generation) {
	s.Version = g.manifest.Version
	for _, w := range g.wants {
		s.Wants = append(s.Wants, strings.TrimSpace(w.Grants.String()))
	}
	for _, c := range g.config.Grants.Ceilings() {
		lines := []string{}
		for _, line := range c.Grants() {
			lines = append(lines, line.String())
		}
		s.Ceilings = append(s.Ceilings, lines)
	}
	s.intended = g.Offer().Ungranted
	s.Warnings = slices.Concat(g.Offer().Problems, g.unsaid, s.intended)
	if g.module == nil && s.File != "" {
		s.Dialect = "text"
	}
	if g.module != nil {
		s.Digest, s.Dialect = g.module.Digest, g.module.Dialect.Name()
		if state := g.State(); state == runtime.StateSession || state == runtime.StatePlugin {
			s.Keeps = string(state)
		}
	}
}

// count fills in how much each plugin publishes.
func count(s *catalogue.Snapshot, status []Status) {
	index := map[string]*Status{}
	for i := range status {
		if status[i].State == StateLoaded {
			index[status[i].Name] = &status[i]
		}
	}
	for _, t := range s.Tools {
		index[t.Plugin].Tools++
	}
	for _, p := range s.Prompts {
		index[p.Plugin].Prompts++
	}
	for _, x := range s.Resources {
		index[x.Plugin].Resources++
	}
	for _, x := range s.Templates {
		index[x.Plugin].Resources++
	}
}
