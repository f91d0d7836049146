// Package manifest reads what a plugin says about itself: its tools, resources, templates and
// prompts. One bad entry costs only itself; what is not a plugin's to say is taken out; the rest
// stays the JSON that the plugin wrote.
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
	// MaxSize bounds a plugin's description of itself, in bytes: a thousand tools of 8 KiB.
	MaxSize = 8 << 20
	// MaxEntries bounds each list of a manifest; the largest servers known have a few hundred.
	MaxEntries = 4096
	// maxTemplates bounds a plugin's templates: each URI is compared with them, and each is compiled.
	maxTemplates = 256
	// MaxDefinition bounds one definition, in bytes: it lands in every client's context.
	MaxDefinition = 256 << 10
	// maxLocalName bounds a plugin's own name for a thing, in bytes.
	maxLocalName = 1 << 10
	// MaxURI bounds a resource's URI, in bytes; browsers stop near 8 KiB too.
	MaxURI = 8 << 10
	// maxLabel bounds the strings of a manifest that are only shown.
	maxLabel = 4 << 10
)

// Manifest is what a plugin says about itself, checked. Entries that are not fit to be published
// are left out and named in Problems.
type Manifest struct {
	Name        string `json:"name,omitempty"` // a label; the plugin's name is the operator's
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	State       string `json:"state,omitempty"` // the isolation it asks for; "" is "call"

	Tools     []json.RawMessage `json:"tools,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"resourceTemplates,omitempty"`
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Wants     []json.RawMessage `json:"wants,omitempty"`

	// Problems names what was left out or changed, one sentence each.
	Problems []string `json:"problems,omitempty"`

	entries map[Kind][]Entry
	refused string // the first problem that cost an entry
}

// Kind is one of the four lists of a manifest.
type Kind string

// The kinds, as sentences name them.
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
	Written json.RawMessage // the definition as the plugin wrote it; nil of the host's own
	Hidden  bool            // not published until the plugin shows it
	// AsksFirst says of a Tool that it asks its client before it begins what takes long.
	AsksFirst bool
	Pattern   *uritemplate.Template // of a Template only
}

// Of returns a manifest of entries that need no check: the host's own.
func Of(k Kind, entries ...Entry) *Manifest {
	return &Manifest{entries: map[Kind][]Entry{k: entries}}
}

// Entries returns the entries of one kind, in the plugin's order. The caller must not change them.
func (m *Manifest) Entries(k Kind) []Entry { return m.entries[k] }

// Definitions are the definitions as the plugin wrote them, by kind and ID: "tool now".
func (m *Manifest) Definitions() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for k, list := range m.entries {
		for _, e := range list {
			all[Key(k, e.ID)] = e.Written
		}
	}
	return all
}

// Key names an entry among those of all kinds.
func Key(k Kind, id string) string { return string(k) + " " + id }

// Refused names the first entry that is not fit to be published; nil if all are.
func (m *Manifest) Refused() error {
	if m.refused == "" {
		return nil
	}
	return errors.New(m.refused)
}

// Parse reads and checks a manifest. The error says why nothing of it can be used; a bad
// entry alone only costs itself.
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
	m := &Manifest{entries: map[Kind][]Entry{}}
	m.labels(o)
	if err := m.lists(o); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// labels reads the strings that are only shown.
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

// lists reads the entries of each kind.
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
