package extismfile

import (
	"encoding/json"
	"errors"
	"path/filepath"

	sdk "github.com/extism/go-sdk"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// inline is the name of a module in a manifest, which is treated as a folder.
const inline = "data.wasm"

// InlineOf returns the path by which the module in a manifest is known: no file has it.
func InlineOf(manifest string) string { return filepath.Join(manifest, inline) }

// ManifestOf returns the path of the manifest that holds the module of a path; false for other paths.
func ManifestOf(path string) (manifest string, ok bool) {
	manifest, name := filepath.Split(path)
	manifest = filepath.Clean(manifest)
	return manifest, name == inline && Is(manifest)
}

// ReadInline returns the module in the manifest at a path, and the stamp of the manifest.
func ReadInline(manifest string) ([]byte, fileid.Stamp, error) {
	f, st, err := Read(manifest)
	switch {
	case err != nil:
		return nil, st, err
	case !f.Manifest.Inline:
		return nil, st, errors.New("the manifest holds no module any more")
	}
	raw, st, err := fileid.Read(manifest)
	if err != nil {
		return nil, st, err
	}
	var parsed sdk.Manifest
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, st, notManifest(err)
	}
	for _, w := range parsed.Wasm {
		if w, ok := w.(sdk.WasmData); ok {
			return w.Data, st, nil
		}
	}
	return nil, st, errors.New("the manifest is being changed: try again")
}

// With returns a checked manifest that holds its module, in place of the file or the address that it names.
func With(manifest, wasm []byte) ([]byte, error) {
	if len(wasm) > maxModule {
		return nil, errTooLarge
	}
	o, err := jsonraw.ParseObject(manifest)
	if err != nil {
		return nil, err
	}
	modules, err := jsonraw.Elements(o.Get("wasm"))
	if err != nil || len(modules) != 1 {
		return nil, errors.New("the manifest does not name one module")
	}
	module, err := jsonraw.ParseObject(modules[0])
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"path", "url", "method", "headers"} {
		module.Delete(key)
	}
	data, err := json.Marshal(wasm)
	if err != nil {
		return nil, err
	}
	module.Set("data", data)
	o.Set("wasm", jsonraw.Array([]json.RawMessage{module.Append(nil)}))
	return o.Append(nil), nil
}
