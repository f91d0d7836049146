package lock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Terms is the subject of an approval: the code of a plugin and its manifest.
type Terms struct {
	Digest  string            `json:"digest"`  // SHA-256 of the code, "sha256:" and hex
	Imports []string          `json:"imports"` // "module.name", sorted
	Wants   []json.RawMessage `json:"wants"`
	// Definitions holds its tools, prompts, resources and templates by kind and name: "tool now".
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// Pin is the entry of one plugin in the lock file.
type Pin struct {
	File        string            `json:"file,omitempty"`   // base name of its file
	Folder      string            `json:"folder,omitempty"` // the folder of that file at the time
	Digest      string            `json:"digest,omitempty"` // the approved digest; "" is none yet
	Imports     []string          `json:"imports,omitempty"`
	Wants       []json.RawMessage `json:"wants,omitempty"`
	Definitions map[string]string `json:"definitions,omitempty"` // the Hash of each
	Rejected    []string          `json:"rejected,omitempty"`    // rejected digests, the latest last
	Replaced    []string          `json:"replaced,omitempty"`    // digests that were approved before, the latest last
	Origin      *Origin           `json:"origin,omitempty"`      // the source of the bytes; nil for a file put there by hand
}

// Origin is the source that a plugin was fetched from.
type Origin struct {
	From    string `json:"from"`              // where newer versions appear: oci://ghcr.io/acme/weather:1
	Digest  string `json:"digest"`            // of the fetched image or file
	Signer  string `json:"signer,omitempty"`  // the key that signed, as the policy of the source required; "" is none
	Witness string `json:"witness,omitempty"` // a verified signer whom no policy required; "" is none
	Version string `json:"version,omitempty"` // of its manifest, as the plugin states it
	Index   string `json:"index,omitempty"`   // the address of the index that named the source; "" if the operator did
	Entry   string `json:"entry,omitempty"`   // its name there
}

// By returns the verified signer, required or not; "" is none.
func (o *Origin) By() string { return cmp.Or(o.Signer, o.Witness) }

// Pin returns the terms in the form of the lock file; path is the plugin's file.
func (t Terms) Pin(path string) Pin {
	folder, file := filepath.Split(path)
	return Pin{
		File: file, Folder: strings.TrimSuffix(folder, string(filepath.Separator)), Digest: t.Digest, Imports: slices.Clone(t.Imports), Wants: canonicalAll(t.Wants), Definitions: Hashes(t.Definitions),
	}
}

// SameInterface reports whether two plugins have the same imports, wants and definitions, apart from their code.
func (p Pin) SameInterface(q Pin) bool {
	return slices.Equal(p.Imports, q.Imports) && slices.EqualFunc(p.Wants, q.Wants, equalJSON) && maps.Equal(p.Definitions, q.Definitions)
}

func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(canonical(a), canonical(b)) }

// known reports whether there is a pin or a rejection.
func (p Pin) known() bool { return p.Digest != "" || len(p.Rejected) > 0 }

// Refused reports whether a digest was rejected.
func (p Pin) Refused(digest string) bool { return slices.Contains(p.Rejected, digest) }

// maxDigests limits the rejected digests of one plugin, and the replaced ones, so that frequent replacements of a file
// cannot grow the lock file.
const maxDigests = 16

func (p Pin) rejecting(digest string) Pin {
	p.Rejected = append(without(p.Rejected, digest), digest)
	p.Rejected = p.Rejected[max(0, len(p.Rejected)-maxDigests):]
	return p
}

// replacing returns the pin with what is known of the one that it replaces.
func (p Pin) replacing(old Pin) Pin {
	p.Rejected, p.Replaced = without(old.Rejected, p.Digest), without(old.Replaced, p.Digest)
	if old.Digest != "" && old.Digest != p.Digest {
		p.Replaced = append(without(p.Replaced, old.Digest), old.Digest)
		p.Replaced = p.Replaced[max(0, len(p.Replaced)-maxDigests):]
	}
	return p
}

// without returns a copy of digests without one.
func without(digests []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(digests), func(d string) bool { return d == one })
}

// Hashes returns the Hash of each definition.
func Hashes(definitions map[string]json.RawMessage) map[string]string {
	hashes := make(map[string]string, len(definitions))
	for name, raw := range definitions {
		hashes[name] = Hash(raw)
	}
	return hashes
}

// Hash returns the SHA-256 of a definition in canonical form, so that it does not depend on the order of keys.
func Hash(definition json.RawMessage) string {
	sum := sha256.Sum256(canonical(definition))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonical returns JSON with sorted keys and no blanks; invalid JSON is returned unchanged.
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
