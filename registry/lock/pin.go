package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Terms are what an operator agrees to: the code of a plugin and what it says about itself.
type Terms struct {
	Digest  string            `json:"digest"`  // SHA-256 of the code, "sha256:" and hex
	Imports []string          `json:"imports"` // "module.name", sorted
	Wants   []json.RawMessage `json:"wants"`
	// Definitions are those of its tools, prompts, resources and templates, by kind and name: "tool now".
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// Pin is what the lock file holds of one plugin.
type Pin struct {
	File        string            `json:"file,omitempty"`   // the name of its file
	Folder      string            `json:"folder,omitempty"` // and the folder in which it was then
	Digest      string            `json:"digest,omitempty"` // that was agreed to; "" is none yet
	Imports     []string          `json:"imports,omitempty"`
	Wants       []json.RawMessage `json:"wants,omitempty"`
	Definitions map[string]string `json:"definitions,omitempty"` // the hash of each, as Hash makes it
	Rejected    []string          `json:"rejected,omitempty"`    // digests that were answered no, the latest last
}

// Pin is the terms as the lock file holds them; path is the plugin's file.
func (t Terms) Pin(path string) Pin {
	folder, file := filepath.Split(path)
	return Pin{
		File: file, Folder: strings.TrimSuffix(folder, string(filepath.Separator)), Digest: t.Digest, Imports: slices.Clone(t.Imports), Wants: canonicalAll(t.Wants), Definitions: Hashes(t.Definitions),
	}
}

// SameInterface reports whether two plugins import, want and offer the same, whatever their code.
func (p Pin) SameInterface(q Pin) bool {
	return slices.Equal(p.Imports, q.Imports) && slices.EqualFunc(p.Wants, q.Wants, equalJSON) && maps.Equal(p.Definitions, q.Definitions)
}

func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(canonical(a), canonical(b)) }

// Refused reports whether a digest was answered no.
func (p Pin) Refused(digest string) bool { return slices.Contains(p.Rejected, digest) }

// maxRejected bounds the answers that are kept of one plugin: whoever replaces a file a thousand times is
// not to make the lock file grow.
const maxRejected = 16

func (p Pin) rejecting(digest string) Pin {
	p.Rejected = slices.DeleteFunc(slices.Clone(p.Rejected), func(d string) bool { return d == digest })
	p.Rejected = append(p.Rejected, digest)
	p.Rejected = p.Rejected[max(0, len(p.Rejected)-maxRejected):]
	return p
}

// Hashes is Hash of each definition.
func Hashes(definitions map[string]json.RawMessage) map[string]string {
	hashes := make(map[string]string, len(definitions))
	for name, raw := range definitions {
		hashes[name] = Hash(raw)
	}
	return hashes
}

// Hash names a definition: SHA-256 of it with sorted keys and no blanks, so that a plugin that writes its
// keys in another order each time says the same.
func Hash(definition json.RawMessage) string {
	sum := sha256.Sum256(canonical(definition))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonical is JSON with sorted keys and no blanks; what is no JSON stays as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func canonicalAll(list []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, raw := range list {
		out = append(out, canonical(raw))
	}
	return out
}
