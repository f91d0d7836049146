package plugin

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxSource bounds the section that says where a file came from, in bytes.
const maxSource = 4 << 10

// Source is the origin of a file that sallyport build made, as the file itself says: it is evidence of nothing.
type Source struct {
	Package string `json:"package"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"` // empty for a module in a folder
	Sum     string `json:"sum,omitempty"`     // of the module, as in go.sum
	Go      string `json:"go"`                // the version of the compiler
}

// sourceOf returns the origin in a file, nil if there is none that can be read.
func sourceOf(b *wasmbin.Binary) *Source {
	raw, ok := b.CustomSection(wasmbin.SourceSection)
	if !ok || len(raw) > maxSource {
		return nil
	}
	var s Source
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return &s
}
