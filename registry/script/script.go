// Package script makes plugins of JavaScript, TypeScript and Python files.
//
//	hello.ts ──▶ Read ──▶ container: the sources ──▶ Expand ──▶ a module: engine + library + bundle
//	  imports               (digest, lock, copies)                (compiled, imaged)
//
// A container is a module without code that holds the script and everything it imports, as the author wrote it. Its bytes
// are what the operator approves: they do not change with a version of the host, and two of them can be compared as text.
// Expand bundles the sources and adds them, as one data segment, to the engine: QuickJS-ng as a guest of the native ABI,
// behind the same imports, limits and clean memory as any other. Since the segment is not part of the code, all scripts
// share one compiled engine.
//
// A script in Python goes the same way, without a bundle: its segment has the sources as they are, and the engine is
// MicroPython.
//
// On the host a script is only parsed, by esbuild, within limits of size, depth and time. Python is not parsed there.
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Section is the custom section of a container. Its content is a Source in JSON.
const Section = "sallyport.script"

// Source is a script with everything it imports.
type Source struct {
	Entry string `json:"entry"` // the path of the script itself
	Files []File `json:"files"` // sorted by path
}

// File is one source file.
type File struct {
	Path    string            `json:"path"` // relative to the folder of the script, with slashes
	Text    string            `json:"text"`
	Imports map[string]string `json:"imports,omitempty"` // the paths of what it imports, by the text of the import
	Pure    bool              `json:"pure,omitempty"`    // its package declares that it has no side effects
}

// Is reports by its name whether a file is a script. Declarations are not: tool.d.ts has no code.
func Is(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	switch filepath.Ext(name) {
	case ".js", ".py":
		return true
	case ".ts":
		return !strings.HasSuffix(name, ".d.ts")
	}
	return false
}

// Read reads a script and the files that it imports, and returns them as a container. Errors have file, line and column.
func Read(path string) ([]byte, fileid.Stamp, error) {
	st, err := Stamp(path)
	if err != nil {
		return nil, st, err
	}
	container, err := gathered(path)
	if after, failed := Stamp(path); failed != nil || after != st {
		return nil, st, fileid.ErrUnsettled
	}
	return container, st, err
}

// gathered returns the container of a script.
func gathered(path string) ([]byte, error) {
	text, _, err := fileid.Read(path)
	if err != nil {
		return nil, err
	}
	if !isPython(path) {
		return isolated(text, stepRead, path)
	}
	s, err := pythonSource(path, text)
	if err != nil {
		return nil, err
	}
	return s.container()
}

// empty is a module without sections.
var empty = []byte("\x00asm\x01\x00\x00\x00")

func (s *Source) container() ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return wasmbin.SetCustomSection(empty, Section, raw)
}

// SourceOf returns the sources in a container; false if the module is none.
func SourceOf(b *wasmbin.Binary) (*Source, bool) {
	raw, ok := b.CustomSection(Section)
	if !ok {
		return nil, false
	}
	s, err := decode(raw)
	return s, err == nil
}

// decode returns the sources in the section of a container. Its author can have made it by hand.
func decode(section []byte) (*Source, error) {
	var s Source
	if err := json.Unmarshal(section, &s); err != nil {
		return nil, fmt.Errorf("the section %s is damaged: %w", Section, err)
	}
	return &s, s.check()
}

// check refuses sources of which a person would be shown others than those that run.
func (s *Source) check() error {
	seen := map[string]bool{}
	for _, f := range s.Files {
		switch {
		case seen[f.Path]:
			return fmt.Errorf("the section %s has %q twice", Section, f.Path)
		case f.Pure && packageOf(f.Path) == f.Path:
			return fmt.Errorf("the section %s leaves out imports of %q, which is in no package", Section, f.Path)
		}
		seen[f.Path] = true
	}
	return nil
}

// Expand returns the module of a container, and other modules unchanged.
func Expand(wasm []byte) ([]byte, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	if _, ok := b.CustomSection(Section); !ok {
		return wasm, nil
	}
	if s, ok := SourceOf(b); ok && isPython(s.Entry) {
		return s.pythonModule()
	}
	return isolated(wasm, stepExpand)
}

// errTooLarge is wrapped by errors about sizes.
var errTooLarge = errors.New("too large")
