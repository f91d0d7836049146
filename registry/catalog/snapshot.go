package catalog

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Skill is a parsed skill file.
type Skill = document.Skill

// Snapshot is an immutable version of the catalog. Its lists are sorted by public name, resources by URI and
// templates by their text. Callers must not modify anything reachable from it.
type Snapshot struct {
	Generation uint64 // increases with each change of the catalog

	Tools     []*Tool
	Resources []*Resource
	Templates []*Template
	Prompts   []*Prompt
	Skills    []*Skill // sorted by URI

	tools     map[string]*Tool
	prompts   map[string]*Prompt
	resources map[string]*Resource
	templates map[string]*Template
	matching  []*Template // longest literal prefix first

	callers map[string]bool // principals with entries shown or hidden by a plugin; nil if all see the same
	rules   []identity.Who  // of the operator, each once
	scopes  []string        // of the operator's rules, sorted, each once
	views   sync.Map        // class → *Snapshot, filled by For
	kept    atomic.Int32    // views
}

// Tool returns the tool with a public name.
func (s *Snapshot) Tool(name string) (*Tool, bool) {
	t, ok := s.tools[name]
	return t, ok
}

// Prompt returns the prompt with a public name.
func (s *Snapshot) Prompt(name string) (*Prompt, bool) {
	p, ok := s.prompts[name]
	return p, ok
}

// Template returns the template with exactly this text, as named by completion/complete.
func (s *Snapshot) Template(uriTemplate string) (*Template, bool) {
	t, ok := s.templates[uriTemplate]
	return t, ok
}

// Resource returns the Reader of a URI: the resource with exactly this URI, else the matching template with the longest
// literal prefix. If templates of two plugins match equally, the Reader returns an error that names both.
func (s *Snapshot) Resource(uri string) (Reader, bool) {
	if r, ok := s.resources[uri]; ok {
		return r, true
	}
	if len(uri) > manifest.MaxURI {
		return nil, false
	}
	return s.match(uri)
}

func (s *Snapshot) match(uri string) (Reader, bool) {
	var found *Template
	for _, t := range s.matching {
		if found != nil && len(t.pattern.Prefix()) < len(found.pattern.Prefix()) {
			break
		}
		if !strings.HasPrefix(uri, t.pattern.Prefix()) || !t.pattern.Match(uri) {
			continue
		}
		if found != nil && found.Plugin != t.Plugin {
			return &collision{uri: uri, plugins: [2]string{min(found.Plugin, t.Plugin), max(found.Plugin, t.Plugin)}}, true
		}
		if found == nil {
			found = t
		}
	}
	if found == nil {
		return nil, false
	}
	return found, true
}

// Scopes returns those scopes of a list that the operator's rules name. It is for the snapshot of all callers.
func (s *Snapshot) Scopes(of []string) (named []string) {
	for _, scope := range of {
		if _, found := slices.BinarySearch(s.scopes, scope); found {
			named = append(named, scope)
		}
	}
	return named
}

// Owner returns the name of the plugin that serves a URI, "" if none does.
func (s *Snapshot) Owner(uri string) string {
	switch r, _ := s.Resource(uri); r := r.(type) {
	case *Resource:
		return r.Plugin
	case *Template:
		return r.Plugin
	}
	return ""
}
