package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

const (
	// maxManifest bounds a plugin's description of itself, in bytes: a thousand tools of 8 KiB.
	maxManifest = 8 << 20
	// maxEntries bounds each list of a manifest; the largest servers known have a few hundred.
	maxEntries = 4096
	// maxTemplates bounds a plugin's templates: each URI is compared with them, and each is compiled.
	maxTemplates = 256
	// maxDefinition bounds one definition, in bytes: it lands in every client's context.
	maxDefinition = 256 << 10
	// maxLocalName bounds a plugin's own name for a thing, in bytes.
	maxLocalName = 1 << 10
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

	tools, prompts       []declared
	resources, templates []declared
	refused              string // the first problem that cost an entry
}

// declared is one checked entry: id is its local name, URI or template.
type declared struct {
	id      string
	members rawjson.Object
	hidden  bool         // not published until the plugin shows it
	pattern *URITemplate // templates only
}

// ParseManifest reads and checks a manifest. The error says why nothing of it can be used; a bad
// entry alone only costs itself.
func ParseManifest(raw []byte) (*Manifest, error) {
	if len(raw) > maxManifest {
		return nil, fmt.Errorf("manifest: over %d MiB", maxManifest>>20)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("manifest: not UTF-8")
	}
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m := &Manifest{}
	m.labels(o)
	if err := m.lists(o); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// labels reads the strings that are only shown.
func (m *Manifest) labels(o rawjson.Object) {
	for key, to := range map[string]*string{
		"name": &m.Name, "version": &m.Version, "description": &m.Description, "state": &m.State,
	} {
		raw := o.Get(key)
		if rawjson.IsNull(raw) {
			continue
		}
		if s, ok := rawjson.String(raw); ok && len(s) <= maxLabel {
			*to = s
		} else {
			m.problem("manifest: %s is not a string of at most %d bytes", key, maxLabel)
		}
	}
	switch m.State {
	case "", "call":
	case "session", "plugin":
		m.problem("asks for state %q, which is not available yet: every call gets a clean instance", m.State)
	default:
		m.problem("asks for state %q, which does not exist: every call gets a clean instance", m.State)
	}
}

// lists reads the entries of each kind.
func (m *Manifest) lists(o rawjson.Object) error {
	for _, l := range []struct {
		key, id string
		max     int
		check   func(*entryCheck)
		raw     *[]json.RawMessage
		out     *[]declared
	}{
		{"tools", "name", maxEntries, checkTool, &m.Tools, &m.tools},
		{"resources", "uri", maxEntries, checkResource, &m.Resources, &m.resources},
		{"resourceTemplates", "uriTemplate", maxTemplates, checkTemplate, &m.Templates, &m.templates},
		{"prompts", "name", maxEntries, checkPrompt, &m.Prompts, &m.prompts},
	} {
		elements, err := list(o, l.key, l.max)
		if err != nil {
			return err
		}
		for i, raw := range elements {
			c := &entryCheck{what: fmt.Sprintf("%s[%d]", l.key, i)}
			c.read(raw, l.id)
			c.run(l.check)
			m.Problems = append(m.Problems, c.problems...)
			if c.bad && m.refused == "" {
				m.refused = c.problems[len(c.problems)-1]
			}
			if !c.bad {
				*l.raw = append(*l.raw, c.members.Append(nil))
				*l.out = append(*l.out, c.declared)
			}
		}
	}
	var err error
	m.Wants, err = list(o, "wants", maxEntries)
	return err
}

// list returns the elements of an array member; absent and null are empty.
func list(o rawjson.Object, key string, most int) ([]json.RawMessage, error) {
	raw := o.Get(key)
	if rawjson.IsNull(raw) {
		return nil, nil
	}
	elements, err := rawjson.Elements(raw)
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
