package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// State is the state of a plugin.
type State string

// The values of State.
const (
	StateLoading  State = "loading"  // its file is still changing, or is being read
	StateLoaded   State = "loaded"   // it serves
	StateFailed   State = "failed"   // it cannot be loaded; Error has the reason
	StateHeld     State = "held"     // a different plugin claims its name, or it is not approved
	StateDisabled State = "disabled" // disabled by the operator
)

// Status describes one plugin to the operator.
type Status struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`    // its path; "" for a built-in plugin
	Digest  string `json:"digest,omitempty"`  // SHA-256 of the serving bytes, "sha256:" and hex
	Dialect string `json:"dialect,omitempty"` // "go" for a built-in plugin, "text" for a document
	State   State  `json:"state"`
	Version string `json:"version,omitempty"` // from its manifest
	Error   string `json:"error,omitempty"`   // why it failed or is held; with StateLoaded: why a newer file does not serve
	Counts
	Warnings []string `json:"warnings,omitempty"`

	// intended holds those of Warnings that the operator may intend. absent is set if there is no file of its name in
	// this folder, as happens with one configuration for several folders. Both are logged as information only.
	intended []string
	absent   bool

	Permissions `json:"-"` // not part of the JSON that clients can read

	Rejected bool `json:"-"` // the operator rejected the bytes of Waits

	Waits   string `json:"waits,omitempty"`   // the digest of bytes that wait for approval
	Keeps   string `json:"keeps,omitempty"`   // the scope of its kept state: "session", "plugin"
	Updates string `json:"updates,omitempty"` // updates approved in advance: "dev", "same-interface"
}

// Counts counts the published entries of a plugin.
type Counts struct {
	Tools     int `json:"tools"`
	Resources int `json:"resources"` // with templates
	Prompts   int `json:"prompts"`
}

// Permissions describes the grants of a plugin.
type Permissions struct {
	Wants []string // the wants of its manifest, as lines
	// Variables holds the secrets that its command line reads from the environment, by the names of the variables.
	Variables map[string]string
	Grants    []string // the operator's grants, as lines
	// Ceilings holds the max_grants that apply to it, as lines: those of the settings file, then its own.
	Ceilings [][]string
	Pinned   bool // its grants belong to a digest: that of the lock file, or one that the settings name or leave open
}

// statusOf returns the status of a plan and its generation, nil for none.
func (a approvals) statusOf(p *plan, g *generation) Status {
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
	case p.pendingReason != "" && g != nil:
		s.Error = p.pendingReason
	case p.file == nil && p.isThere():
		s.State = StateLoading
	case p.file == nil:
		s.fail(StateFailed, p.missing())
		s.absent = p.config.Source == "" && p.manifestFile == nil
	case p.pending != "" && p.file.err == nil:
		s.State = StateLoading
	case p.file.err != nil && g == nil:
		s.fail(StateFailed, p.file.err)
	case p.file.err != nil:
		s.Error = fmt.Sprintf("the new file does not serve, the old one does: %v", p.file.err)
	case g == nil:
		s.State = StateLoading
	}
	for _, line := range p.config.Grants.Lines() {
		s.Grants = append(s.Grants, line.String())
	}
	if a.lock != nil {
		pin, _ := a.lock.Pin(p.name)
		s.Rejected = p.pending != "" && pin.Refused(p.pending)
		s.Pinned = pin.Digest != "" && !a.provisional(p.name) || p.config.Digest != "" || p.config.Updates == UpdatesDev
	}
	if g != nil {
		s.describe(g)
	}
	s.Waits, s.Updates = p.pending, string(p.config.Updates)
	s.Warnings = append(s.Warnings, p.extismWarnings()...)
	return s
}

func (s *Status) fail(state State, err error) { s.State, s.Error = state, err.Error() }

func (s *Status) describe(g *generation) {
	s.Version = g.manifest.Version
	for _, w := range g.wants {
		s.Wants = append(s.Wants, strings.TrimSpace(w.Grants.String()))
	}
	s.Variables = plugin.SecretVariables(g.manifest)
	for _, c := range g.config.Grants.Ceilings() {
		lines := []string{}
		for _, line := range c.Lines() {
			lines = append(lines, line.String())
		}
		s.Ceilings = append(s.Ceilings, lines)
	}
	s.intended = g.Offer().Ungranted
	s.Warnings = slices.Concat(g.Offer().Problems, g.wantProblems, s.intended, g.tightClasses())
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

// count sets how many entries each plugin publishes.
func count(s *catalog.Snapshot, status []Status) {
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
