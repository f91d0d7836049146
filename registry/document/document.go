// Package document loads plugins without code: a prompt in a text file (NAME.prompt.md), or a skill in a zip archive
// (NAME.skill). A Document has a manifest and serves requests like other plugins, without a sandbox.
package document

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// kind is a kind of document.
type kind struct {
	suffix string // of the file's name
	read   func(raw []byte, stem string) (*Document, error)
}

// kindOf returns the kind of a document by its file name.
func kindOf(path string) (k kind, ok bool) {
	for _, k := range []kind{{promptSuffix, readPrompt}, {skillSuffix, readSkill}} {
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

// maxSize limits a document's file, in bytes: the files of a skill may have half of that unpacked.
const maxSize = 32 << 20

// Document is the parsed contents of one file. It is immutable.
type Document struct {
	Manifest *manifest.Manifest
	Skill    *Skill // nil for a prompt
	Digest   string // SHA-256 of the file, "sha256:" and hex

	texts map[string][]byte // the texts shown to models and people, by name
	serve serveFunc
}

// serveFunc answers one request of a document.
type serveFunc func(method string, params json.RawMessage) (json.RawMessage, error)

// Serve answers prompts/get, resources/read and completion/complete.
func (d *Document) Serve(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return d.serve(method, params)
}

// Read loads a document. The stamp is that of the bytes read, or of the file if they were not read.
func Read(path string) (*Document, fileid.Stamp, error) {
	st, err := fileid.Of(path)
	if err != nil {
		return nil, st, fileid.Plain(err)
	}
	if st.Size > maxSize {
		return nil, st, fmt.Errorf("the file is over %d MiB", maxSize>>20)
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
	d, err := k.read(raw, name[:len(name)-len(k.suffix)])
	if err != nil {
		return nil, err
	}
	d.Digest, d.texts = fileid.Digest(raw), map[string][]byte{name: raw}
	if d.Skill != nil {
		d.texts = d.Skill.Files()
	}
	return d, nil
}

// newDocument checks the manifest of a document as strictly as a guest's.
func newDocument(lists jsonraw.Object, serve serveFunc) (*Document, error) {
	m, err := manifest.Parse(lists.Append(nil))
	if err == nil {
		err = m.Refused()
	}
	if err != nil {
		return nil, err
	}
	return &Document{Manifest: m, serve: serve}, nil
}
