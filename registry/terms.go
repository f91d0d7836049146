package registry

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// extismTerms is the approved part of an Extism manifest: with other values the same bytes behave differently.
type extismTerms struct {
	Config  map[string]string `json:"config"`
	Wants   []json.RawMessage `json:"wants"`
	Memory  uint64            `json:"memory,omitempty"`
	Timeout time.Duration     `json:"timeout,omitempty"`
}

// encodeExtismTerms encodes the approved part of a manifest; nil if it is empty.
func encodeExtismTerms(m *extismfile.Manifest) json.RawMessage {
	if m == nil || len(m.Config)+len(m.Wants) == 0 && m.Memory == 0 && m.Timeout == 0 {
		return nil
	}
	raw, err := json.Marshal(extismTerms{m.Config, m.Wants, m.Memory, m.Timeout})
	if err != nil {
		return nil // cannot fail: strings, numbers, and JSON that was made here
	}
	return raw
}

// terms returns the terms of the plan's module, without its imports.
func (c *contents) terms() lock.Terms { return termsOf(c.module, c.extism) }

// termsOf returns the terms of a module under a manifest, without its imports.
func termsOf(m *plugin.Module, extism *extismfile.Manifest) lock.Terms {
	t := lock.Terms{Digest: m.Digest, Wants: wantsOf(m, extism), Definitions: m.Manifest.Definitions()}
	if raw := encodeExtismTerms(extism); raw != nil {
		t.Definitions[lock.Manifest] = raw
	}
	return t
}

// hashes returns the definition hashes of terms.
func (c *contents) hashes() map[string]string {
	raw := encodeExtismTerms(c.extism)
	if raw == nil {
		return c.module.Hashes()
	}
	all := maps.Clone(c.module.Hashes())
	all[lock.Manifest] = lock.Hash(raw)
	return all
}

// wants returns the wants of the module and of the manifest in force.
func (c *contents) wants() []json.RawMessage { return wantsOf(c.module, c.extism) }

// wantsOf returns the wants of a module and of the manifest that names it.
func wantsOf(m *plugin.Module, extism *extismfile.Manifest) []json.RawMessage {
	if extism == nil {
		return m.Manifest.Wants
	}
	return slices.Concat(m.Manifest.Wants, extism.Wants)
}

// newestTerms returns the terms and the bytes that an approval of a plan's current file covers. They must not be
// modified.
func (a approvals) newestTerms(p *plan) (t lock.Terms, raw []byte, err error) {
	if text := p.file.text; text != nil {
		raw, _, err = fileid.Read(p.path)
		if err == nil && fileid.Digest(raw) != text.Digest {
			err = errors.New("the file is being changed: try again")
		}
		return text.Terms(), raw, err
	}
	if raw, err = a.bytesOf(p.file.module); err != nil {
		return t, nil, err
	}
	t = termsOf(p.file.module, p.manifestFile.manifest())
	t.Imports, err = importsOf(raw)
	return t, raw, err
}

// importsOf returns the imports of a module, sorted and without duplicates.
func importsOf(wasm []byte) ([]string, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	all := []string{}
	for _, i := range b.Imports {
		all = append(all, i.Module+"."+i.Name)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
