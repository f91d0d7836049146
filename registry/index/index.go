// Package index finds plugins by a word or a name: in an index, which is a JSON file with names, digests and sources, and
// in a registry of MCP servers, through its API.
//
//	address, err := index.Parse("https://plugins.example.com/index.json")
//	found, err := address.Search(ctx, fetcher, index.Query{Word: "weather"})
//	// found.Entries have a source and the digest of its bytes; found.Problems are sentences for the operator
//
// An index is a claim of its author. Every entry names the digest of its bytes, its hosts have to be public, and nothing
// of an entry is trusted: the plugin itself is shown before it is installed.
package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/source"
)

// serversPrefix begins the address of a registry of MCP servers.
const serversPrefix = "mcp+"

// Address names an index: a file, an address of the web, or that of a registry of MCP servers.
type Address struct {
	text    string
	ref     source.Ref
	servers bool
}

// Parse parses an address: a path, https://…, or mcp+https://… for a registry of MCP servers.
func Parse(text string) (Address, error) {
	rest, servers := strings.CutPrefix(text, serversPrefix)
	scheme, _, found := strings.Cut(rest, "://")
	if found && !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "file") || servers && !found {
		return Address{}, fmt.Errorf("%.200q is no address of an index: want a file, https://… or mcp+https://…", text)
	}
	ref, err := source.Parse(rest)
	return Address{text: text, ref: ref, servers: servers}, err
}

// String returns the address as it was given.
func (a Address) String() string { return a.text }

// Fixed reports whether the address means the same in every working directory.
func (a Address) Fixed() bool { return strings.Contains(a.text, "://") || filepath.IsAbs(a.text) }

// Entry is a plugin of an index.
type Entry struct {
	Name        string     `json:"name"`
	Version     string     `json:"version,omitempty"`
	Description string     `json:"description,omitempty"`
	Digest      string     `json:"digest"` // of the file, the archive or the image
	Wants       []string   `json:"wants,omitempty"`
	Index       string     `json:"index"` // the address of the index
	From        string     `json:"source"`
	Source      source.Ref `json:"-"` // without the digest; its host is named by the index and not by the operator
}

// Stem returns the name for the plugin's file: the part of the name behind the last slash.
func (e Entry) Stem() string { return e.Name[strings.LastIndexByte(e.Name, '/')+1:] }

// Ref returns the source that is fetched: of an image with its digest.
func (e Entry) Ref() source.Ref { return e.Source.At(e.Digest) }

// Check returns an error if an artifact does not have the digest that the index names.
func (e Entry) Check(a *source.Artifact) error {
	if a.Origin.Digest != e.Digest {
		return fmt.Errorf("its bytes are %s, and the index %s names %s: it is refused", a.Origin.Digest, e.Index, e.Digest)
	}
	return nil
}

// Unlisted returns the wants that the index does not name.
func (e Entry) Unlisted(wants []string) (more []string) {
	listed := map[string]bool{}
	for _, w := range e.Wants {
		listed[strings.TrimSpace(w)] = true
	}
	for _, w := range wants {
		if !listed[strings.TrimSpace(w)] {
			more = append(more, w)
		}
	}
	return more
}

// Query selects entries. The zero value selects all.
type Query struct {
	Word string // part of the name or the description, in any case
	Name string // the whole name
}

// matches reports whether the query selects an entry.
func (q Query) matches(name, description string) bool {
	if q.Name != "" {
		return name == q.Name
	}
	word := strings.ToLower(q.Word)
	return strings.Contains(strings.ToLower(name), word) || strings.Contains(strings.ToLower(description), word)
}

// Found are the entries of an index that a query selects.
type Found struct {
	Entries  []Entry
	Problems []string // entries that are left out, a sentence each
}

// skip leaves out an entry.
func (f *Found) skip(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// Search returns the entries that a query selects.
func (a Address) Search(ctx context.Context, f *source.Fetcher, q Query) (Found, error) {
	if a.servers {
		return a.searchServers(ctx, f, q)
	}
	raw, err := f.Document(ctx, a.ref)
	if err != nil {
		return Found{}, err
	}
	return a.parse(raw, q)
}

// AmbiguousError is returned for a name that more than one entry has.
type AmbiguousError struct {
	Name string
	All  []Entry
}

// Error names the sources.
func (e *AmbiguousError) Error() string {
	var from []string
	for _, one := range e.All {
		from = append(from, one.From+" of "+one.Index)
	}
	return fmt.Sprintf("%d plugins have the name %s: %s", len(e.All), e.Name, strings.Join(from, ", "))
}

// ErrNotFound is returned for a name that no index has.
var ErrNotFound = errors.New("no index has a plugin of that name")

// Find returns the only entry of a name. Equal entries of several indexes are one.
func Find(ctx context.Context, f *source.Fetcher, all []Address, name string) (Entry, error) {
	var found []Entry
	var problems []string
	for _, a := range all {
		one, err := a.Search(ctx, f, Query{Name: name})
		if err != nil {
			return Entry{}, err // another index could have the name, of another plugin
		}
		problems = append(problems, one.Problems...)
		for _, e := range one.Entries {
			if len(found) == 0 || e.From != found[0].From || e.Digest != found[0].Digest {
				found = append(found, e)
			}
		}
	}
	switch {
	case len(found) > 1:
		return Entry{}, &AmbiguousError{name, found}
	case len(found) == 0 && len(problems) > 0:
		return Entry{}, fmt.Errorf("%s: %w; %s", name, ErrNotFound, strings.Join(problems, "; "))
	case len(found) == 0:
		return Entry{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return found[0], nil
}
