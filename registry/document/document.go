// Package document loads plugins without code: a prompt in a text file, a skill in an archive.
package document

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/promptfile"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/registry/skillfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// kind is a kind of document.
type kind struct {
	suffix string // of the file's name
	read   func(raw []byte, stem string) (*serving.Code, error)
}

// kindOf returns the kind of a document by its file name.
func kindOf(path string) (k kind, ok bool) {
	for _, k := range []kind{{promptfile.Suffix, promptPlugin}, {skillfile.Suffix, skillPlugin}} {
		if strings.HasSuffix(strings.ToLower(path), k.suffix) {
			return k, true
		}
	}
	return kind{}, false
}

// Is reports by its name whether a file is a document.
func Is(path string) bool {
	_, ok := kindOf(path)
	return ok
}

// MaxSize limits a document's file, in bytes: the files of a skill may have half of that unpacked.
const MaxSize = 32 << 20

// Document is the parsed contents of one file.
type Document struct {
	*serving.Code
	Digest string // SHA-256 of the file, "sha256:" and hex

	texts map[string][]byte // the texts shown to models and people, by name
}

// Read loads a document. The stamp is that of the bytes read, or of the file if they were not read.
func Read(path string) (*Document, fileid.Stamp, error) {
	st, err := fileid.Of(path)
	if err != nil {
		return nil, st, fileid.Plain(err)
	}
	if st.Size > MaxSize {
		return nil, st, fmt.Errorf("the file is over %d MiB", MaxSize>>20)
	}
	raw, st, err := fileid.Read(path)
	if err != nil {
		return nil, st, err
	}
	d, err := Parse(raw, path)
	return d, st, err
}

// Parse parses the contents, present or past, of the file at path.
func Parse(raw []byte, path string) (*Document, error) {
	name := filepath.Base(path)
	k, ok := kindOf(path)
	if !ok {
		return nil, fmt.Errorf("%s is no prompt and no skill", name)
	}
	code, err := k.read(raw, name[:len(name)-len(k.suffix)])
	if err != nil {
		return nil, err
	}
	d := &Document{Code: code, Digest: fileid.Digest(raw), texts: map[string][]byte{name: raw}}
	if code.Skill != nil {
		d.texts = code.Skill.Files()
	}
	return d, nil
}

// promptPlugin returns a plugin with one prompt.
func promptPlugin(raw []byte, stem string) (*serving.Code, error) {
	prompt, err := promptfile.Parse(raw, stem)
	if err != nil {
		return nil, err
	}
	code, err := plugin(jsonraw.Object{
		{Key: "prompts", Value: json.RawMessage("[" + string(prompt.Definition) + "]")},
	}, func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if method == "completion/complete" {
			name, _ := jsonraw.String(jsonraw.Get(params, "argument", "name"))
			typed, _ := jsonraw.String(jsonraw.Get(params, "argument", "value"))
			return prompt.Complete(name, typed), nil
		}
		result, err := prompt.Get(jsonraw.Get(params, "arguments"))
		if err != nil {
			return nil, &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		return result, nil
	})
	if err == nil {
		code.Manifest.Problems = append(code.Manifest.Problems, prompt.Problems...)
	}
	return code, err
}

// plugin checks the manifest of a document as strictly as a guest's.
func plugin(lists jsonraw.Object, serve serving.Func) (*serving.Code, error) {
	m, err := manifest.Parse(lists.Append(nil))
	if err == nil {
		err = m.Refused()
	}
	if err != nil {
		return nil, err
	}
	return &serving.Code{Manifest: m, Serve: serve}, nil
}
