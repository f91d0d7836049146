package index

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// Limits of an index.
const (
	maxEntries = 20_000
	maxText    = 4 << 10 // of a description, in bytes
	maxWants   = 256
)

// entryJSON is an entry of a file:
//
//	{"plugins": [{"name": "weather", "version": "1.2.0", "description": "Forecasts.",
//	  "source": "oci://ghcr.io/acme/weather:1.2.0", "digest": "sha256:…", "wants": ["net: GET https://api.example.com/**"]}]}
type entryJSON struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	Digest      string   `json:"digest"`
	Wants       []string `json:"wants"`
}

// parse reads a file and returns the entries that a query selects. A bad entry is left out with a problem.
func (a Address) parse(raw []byte, q Query) (found Found, err error) {
	if err := jsonraw.Valid(raw); err != nil {
		return found, fmt.Errorf("the index %s is not JSON: %w", a, err)
	}
	if at, twice := jsonraw.AmbiguousKey(raw); twice {
		return found, fmt.Errorf("the index %s has a key twice, %.200q: two readers could see two indexes", a, at)
	}
	var file struct {
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Plugins == nil {
		return found, fmt.Errorf("the index %s has no list plugins", a)
	}
	if len(file.Plugins) > maxEntries {
		return found, fmt.Errorf("the index %s has %d entries, and at most %d are read", a, len(file.Plugins), maxEntries)
	}
	for i, raw := range file.Plugins {
		var e entryJSON
		if err := json.Unmarshal(raw, &e); err != nil {
			found.skip("the index %s: entry %d is not read: %v", a, i+1, err)
			continue
		}
		if !q.matches(e.Name, e.Description) {
			continue
		}
		entry, err := a.entry(e)
		if err != nil {
			found.skip("the index %s: entry %d, %.80q, is not read: %v", a, i+1, e.Name, err)
			continue
		}
		found.Entries = append(found.Entries, entry)
	}
	return found, nil
}

// entry checks an entry of a file.
func (a Address) entry(e entryJSON) (Entry, error) {
	if err := manifest.CheckName(e.Name); err != nil {
		return Entry{}, err
	}
	if len(e.Description) > maxText || len(e.Version) > maxText || len(e.Wants) > maxWants {
		return Entry{}, fmt.Errorf("its texts are over %d bytes, or its wants over %d", maxText, maxWants)
	}
	return a.sourced(Entry{Name: e.Name, Version: e.Version, Description: e.Description, Wants: e.Wants, Digest: e.Digest, From: e.Source})
}

// webSource matches sources that an index of the web may name.
var webSource = regexp.MustCompile(`^(?i:https|oci)://`)

// sourced completes an entry by its parsed source.
func (a Address) sourced(e Entry) (Entry, error) {
	if _, ok := fileid.Hex(e.Digest); !ok {
		return e, fmt.Errorf("%.100q is no digest: want sha256: and 64 digits in lower case", e.Digest)
	}
	if !a.ref.Local() && !webSource.MatchString(e.From) {
		return e, fmt.Errorf("the source %.200q is neither https:// nor oci://", e.From)
	}
	if !strings.Contains(e.From, "://") && !filepath.IsAbs(e.From) {
		e.From = filepath.Join(filepath.Dir(a.ref.String()), e.From) // only a file on this machine gets here
	}
	r, err := source.Parse(e.From)
	if err != nil {
		return e, err
	}
	if r.Fixed() && !r.Names(e.Digest) {
		return e, fmt.Errorf("its source %s names another digest than %s", r, e.Digest)
	}
	if !r.Local() {
		r = r.Suggested(a.ref)
	}
	e.Source, e.From, e.Index = r, r.Moving(), a.text
	return e, nil
}
