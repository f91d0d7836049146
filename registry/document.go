package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/promptfile"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/registry/skillfile"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// document is a kind of file that is a plugin without code.
type document struct {
	suffix string // of the file's name
	read   func(raw []byte, stem string) (*goPlugin, error)
}

// documentOf tells by its name what kind of document a file is.
func documentOf(path string) (kind document, ok bool) {
	for _, d := range []document{{promptfile.Suffix, promptPlugin}, {skillfile.Suffix, skillPlugin}} {
		if strings.HasSuffix(strings.ToLower(path), d.suffix) {
			return d, true
		}
	}
	return document{}, false
}

// maxDocument bounds a document's file, in bytes: the files of a skill have half of that when they are unpacked.
const maxDocument = 32 << 20

// loadDocument reads a plugin without code.
func loadDocument(path string, st stamp.Stamp, d document) loaded {
	if st.Size > maxDocument {
		return loaded{path: path, stamp: st, err: fmt.Errorf("the file is over %d MiB", maxDocument>>20)}
	}
	raw, st, err := stamp.Read(path)
	if err != nil {
		return loaded{path: path, stamp: st, err: err}
	}
	stem := filepath.Base(path)
	p, err := d.read(raw, stem[:len(stem)-len(d.suffix)])
	return loaded{path: path, stamp: st, code: p, err: err}
}

// asDocument makes the plan of a document one of code. Its names are its own, unless the operator wants
// them prefixed.
func (p *plan) asDocument() {
	if _, ok := documentOf(p.path); !ok || p.file == nil {
		return
	}
	p.code = p.file.code
	if p.config.Prefix == nil {
		p.config.Prefix = new(bool)
	}
}

// promptPlugin is a plugin of one prompt.
func promptPlugin(raw []byte, stem string) (*goPlugin, error) {
	prompt, err := promptfile.Parse(raw, stem)
	if err != nil {
		return nil, err
	}
	return documentPlugin(stem, rawjson.Object{
		{Key: "prompts", Value: json.RawMessage("[" + string(prompt.Definition) + "]")},
	}, func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == "completion/complete" {
			name, _ := rawjson.String(rawjson.Get(params, "argument", "name"))
			typed, _ := rawjson.String(rawjson.Get(params, "argument", "value"))
			return prompt.Complete(name, typed), nil
		}
		result, err := prompt.Get(rawjson.Get(params, "arguments"))
		if err != nil {
			return nil, &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		return result, nil
	})
}

// documentPlugin checks what a document says it has as a guest's manifest is checked.
func documentPlugin(name string, lists rawjson.Object, serve serving.Func) (*goPlugin, error) {
	m, err := manifest.Parse(lists.Append(nil))
	if err == nil {
		err = m.Refused()
	}
	if err != nil {
		return nil, err
	}
	return &goPlugin{name: name, manifest: m, serve: serve}, nil
}
