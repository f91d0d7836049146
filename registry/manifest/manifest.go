// Package manifest parses and checks the manifest of a plugin: its tools, resources, templates and prompts. An invalid
// entry is left out by itself, members that a plugin may not set are removed, and all else stays the JSON that the
// plugin wrote.
package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/uritemplate"
)

const (
	// MaxSize limits a manifest, in bytes: a thousand tools of 8 KiB.
	MaxSize = 8 << 20
	// MaxEntries limits each list of a manifest; the largest servers known have a few hundred.
	MaxEntries = 4096
	// maxTemplates limits a plugin's templates: each URI is compared with them, and each is compiled.
	maxTemplates = 256
	// MaxDefinition limits one definition, in bytes: it is part of every client's context.
	MaxDefinition = 256 << 10
	// maxLocalName limits an entry's local name, in bytes.
	maxLocalName = 1 << 10
	// MaxURI limits a resource's URI, in bytes; browsers stop near 8 KiB too.
	MaxURI = 8 << 10
	// maxLabel limits the strings of a manifest that are only displayed, in bytes.
	maxLabel = 4 << 10
)

// Manifest is a checked manifest. Entries that cannot be published are left out and listed in Problems.
type Manifest struct {
	Name        string `json:"name,omitempty"` // a label; the operator names the plugin
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	State       string `json:"state,omitempty"` // the requested isolation; "" is "call"

	Tools     []json.RawMessage `json:"tools,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"resourceTemplates,omitempty"`
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Wants     []json.RawMessage `json:"wants,omitempty"`

	// Server is the command line of a whole MCP server: {args, env, program} of its tool file; nil if it has none.
	Server json.RawMessage `json:"server,omitempty"`

	// Problems lists everything left out or changed, one sentence each.
	Problems []string `json:"problems,omitempty"`

	entries map[Kind][]Entry
	refused string // the first problem that left out an entry
}

// Kind is one of the four lists of a manifest.
type Kind string

// The kinds, as messages name them.
const (
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Resource Kind = "resource"
	Template Kind = "resource template"
)

// Entry is one checked entry of a list.
type Entry struct {
	ID      string          // its local name, URI or template
	Members jsonraw.Object  // its definition
	Written json.RawMessage // the definition as the plugin wrote it; nil for the host's own
	Hidden  bool            // not published until the plugin shows it
	// AsksFirst is set for a Tool that asks its first questions while the caller waits, before its task begins.
	AsksFirst bool
	Pattern   *uritemplate.Template // for a Template only
}

// Of returns a manifest with entries that need no check: the host's own.
func Of(k Kind, entries ...Entry) *Manifest {
	return &Manifest{entries: map[Kind][]Entry{k: entries}}
}

// Entries returns the entries of one kind, in the plugin's order. The caller must not modify them.
func (m *Manifest) Entries(k Kind) []Entry { return m.entries[k] }

// serverKey is the key of Manifest.Server in Definitions. No kind of entry has it.
const serverKey = "server command line"

// Definitions returns the definitions as the plugin wrote them, by Key, and the command line of a server.
func (m *Manifest) Definitions() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for k, list := range m.entries {
		for _, e := range list {
			all[Key(k, e.ID)] = e.Written
		}
	}
	if m.Server != nil {
		all[serverKey] = m.Server
	}
	return all
}

// Key returns an entry's key, unique across kinds: "tool now".
func Key(k Kind, id string) string { return string(k) + " " + id }

// Refused returns an error that names the first entry left out; nil if there is none.
func (m *Manifest) Refused() error {
	if m.refused == "" {
		return nil
	}
	return errors.New(m.refused)
}

// Parse parses and checks a manifest. It fails only if the manifest as a whole is unusable; an invalid entry is left
// out by itself.
func Parse(raw []byte) (*Manifest, error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("manifest: over %d MiB", MaxSize>>20)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("manifest: not UTF-8")
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m := &Manifest{entries: map[Kind][]Entry{}, Server: o.Get("server")}
	m.labels(o)
	if err := m.lists(o); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// labels parses the strings that are only displayed, and the state.
func (m *Manifest) labels(o jsonraw.Object) {
	for key, to := range map[string]*string{
		"name": &m.Name, "version": &m.Version, "description": &m.Description, "state": &m.State,
	} {
		raw := o.Get(key)
		if jsonraw.IsNull(raw) {
			continue
		}
		if s, ok := jsonraw.String(raw); ok && len(s) <= maxLabel {
			*to = s
		} else {
			m.problem("manifest: %s is not a string of at most %d bytes", key, maxLabel)
		}
	}
	switch m.State {
	case "", "call", "fresh", "session":
	case "plugin":
		m.problem("asks for state %q, which only the configuration gives: every call gets a clean instance", m.State)
	default:
		m.problem("asks for state %q, which does not exist: every call gets a clean instance", m.State)
	}
}

// lists parses the entries of each kind.
func (m *Manifest) lists(o jsonraw.Object) error {
	for _, l := range []struct {
		kind    Kind
		key, id string
		max     int
		check   func(*check)
		raw     *[]json.RawMessage
	}{
		{Tool, "tools", "name", MaxEntries, checkTool, &m.Tools},
		{Resource, "resources", "uri", MaxEntries, checkResource, &m.Resources},
		{Template, "resourceTemplates", "uriTemplate", maxTemplates, checkTemplate, &m.Templates},
		{Prompt, "prompts", "name", MaxEntries, checkPrompt, &m.Prompts},
	} {
		elements, err := list(o, l.key, l.max)
		if err != nil {
			return err
		}
		seen := make(map[string]bool, len(elements))
		for i, raw := range elements {
			c := &check{kind: l.kind, what: fmt.Sprintf("%s[%d]", l.key, i)}
			c.read(raw, l.id)
			c.run(l.check)
			m.Problems = append(m.Problems, c.problems...)
			if c.bad {
				m.refused = cmp.Or(m.refused, c.problems[len(c.problems)-1])
				continue
			}
			if seen[c.ID] {
				m.problem("%s is left out: it is there already", c.what)
				continue
			}
			seen[c.ID] = true
			*l.raw = append(*l.raw, c.Members.Append(nil))
			m.entries[l.kind] = append(m.entries[l.kind], c.Entry)
		}
	}
	var err error
	m.Wants, err = list(o, "wants", MaxEntries)
	return err
}

// list returns the elements of an array member; absent and null are empty.
func list(o jsonraw.Object, key string, most int) ([]json.RawMessage, error) {
	raw := o.Get(key)
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	elements, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(elements) > most {
		return nil, fmt.Errorf("%s: over %d entries", key, most)
	}
	return elements, nil
}

func (m *Manifest) problem(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}
