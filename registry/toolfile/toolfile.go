// Package toolfile reads tool files: NAME.tool.yaml beside NAME.wasm makes tools of a WASI program, or has the command
// line of a whole MCP server.
//
//	tools:
//	  - name: filter
//	    description: Applies a jq filter to a JSON text.
//	    inputSchema:
//	      type: object
//	      properties:
//	        filter: {type: string}
//	        input: {type: string}
//	      required: [filter, input]
//	    args: [--compact-output, --, "{filter}"]
//	    stdin: "{input}"
//	    output: jsonl
//
// The bytes of such a plugin are those of the module with the tool file in a custom section, so that one digest covers
// both. Package command says what the keys mean.
package toolfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

const (
	// suffix ends the names of tool files. It is singular, as .prompt.md is: it names the kind of file.
	suffix = ".tool.yaml"
	// maxDepth limits the nesting of a tool file: of its schemas.
	maxDepth = 32
	// module is the extension of modules.
	module = ".wasm"
)

// Is reports by its name whether a file is a tool file.
func Is(path string) bool { return strings.HasSuffix(strings.ToLower(path), suffix) }

// Module returns the path of the module that a tool file describes.
func Module(path string) string { return path[:len(path)-len(suffix)] + module }

// Beside returns the path of the tool file of a module; "" if the file is no module by its name.
func Beside(path string) string {
	if !strings.EqualFold(filepath.Ext(path), module) {
		return ""
	}
	return path[:len(path)-len(module)] + suffix
}

// Misnamed returns the name of a file beside a module that was probably meant as its tool file; "" if there is none.
func Misnamed(path string) string {
	if Beside(path) == "" {
		return ""
	}
	stem := path[:len(path)-len(module)]
	for _, suffix := range []string{".tools.yaml", ".tool.yml", ".tools.yml", ".wasm.tool.yaml", ".tool.json"} {
		if _, err := os.Stat(stem + suffix); err == nil {
			return filepath.Base(stem + suffix)
		}
	}
	return ""
}

// Stamp returns the stamp of a plugin file, with that of the tool file beside it, or of the files that a script imports,
// or of the Extism manifest that holds a module.
func Stamp(path string) (fileid.Stamp, error) {
	if script.Is(path) {
		return script.Stamp(path)
	}
	if manifest, ok := extismfile.ManifestOf(path); ok {
		st, err := fileid.Of(manifest)
		return st, fileid.Plain(err)
	}
	st, err := fileid.Of(path)
	if err != nil {
		return st, err
	}
	beside := Beside(path)
	if beside == "" {
		return st, nil
	}
	tool, err := fileid.Of(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	return st.With(tool), nil // a folder of that name is an error of Read
}

// Read reads a plugin file: its own bytes, with a tool file beside it those of both, of a script its sources, and of an
// Extism manifest the module in it. Errors do not name the path, unless it is that of the tool file.
func Read(path string) ([]byte, fileid.Stamp, error) { return ReadBy(fileid.Read, path) }

// ReadBy is Read with a function that reads the module.
func ReadBy(read func(string) ([]byte, fileid.Stamp, error), path string) ([]byte, fileid.Stamp, error) {
	if script.Is(path) {
		return script.Read(path)
	}
	if manifest, ok := extismfile.ManifestOf(path); ok {
		return extismfile.ReadInline(manifest)
	}
	wasm, st, err := read(path)
	beside := Beside(path)
	if err != nil || beside == "" {
		return wasm, st, err
	}
	tool, err := fileid.Of(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return wasm, st, nil
	}
	name := filepath.Base(beside)
	if err != nil {
		return nil, st, fmt.Errorf("%s: %w", name, fileid.Plain(err))
	}
	if tool.Size > command.MaxSize {
		return nil, st.With(tool), fmt.Errorf("%s: the file is over %d MiB", name, command.MaxSize>>20)
	}
	text, tool, err := fileid.Read(beside)
	st = st.With(tool)
	if err != nil {
		return nil, st, fmt.Errorf("%s: %w", name, err)
	}
	wasm, err = join(wasm, text)
	if err != nil {
		return nil, st, fmt.Errorf("%s: %w", name, err)
	}
	return wasm, st, nil
}

// join returns the bytes of a program with the text of its tool file. An error in the text has its line.
func join(wasm, text []byte) ([]byte, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	if !command.IsProgram(b) || b.HasExport("mcp_handle") {
		return nil, errors.New("it is for WASI programs, and the module beside it is none (it exports no _start, or is a plugin by itself): remove or rename this file")
	}
	raw, p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	manifest := p.Manifest()
	if _, server := p.Server(); server {
		packed, _ := b.CustomSection(wasmbin.ManifestSection)
		if before, _ := b.CustomSection(wasmbin.CommandSection); bytes.Equal(before, raw) || packed == nil {
			return wasmbin.SetCustomSection(wasm, wasmbin.CommandSection, raw)
		}
		manifest = nil // the packed lists are those of a different command line
	}
	if wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.CommandSection, raw); err != nil {
		return nil, err
	}
	return wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, manifest)
}

// Parse checks the text of a tool file and returns it as JSON, and the program it describes.
func Parse(text []byte) (json.RawMessage, *command.Program, error) {
	root, err := strictyaml.Parse(text, strictyaml.Limits{Bytes: command.MaxSize, Depth: maxDepth})
	if err != nil {
		return nil, nil, err
	}
	if root == nil {
		return nil, nil, errors.New("the file is empty: write tools: and below it - name: NAME, or let sallyport wrap write one")
	}
	raw := root.JSON()
	p, err := command.Parse(raw)
	if err != nil {
		return nil, nil, atLine(root, err)
	}
	m, err := manifest.Parse(p.Manifest())
	if err == nil {
		err = m.Refused()
	}
	return raw, p, err
}

// atLine adds the line of the value that a problem is about.
func atLine(root *strictyaml.Node, err error) error {
	var p *command.Problem
	if !errors.As(err, &p) {
		return err
	}
	line := root.Line
	for at := root; p.Pointer != ""; {
		var step string
		step, p.Pointer, _ = strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		if p.Pointer != "" {
			p.Pointer = "/" + p.Pointer
		}
		key, value := child(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		if value == nil {
			break
		}
		at, line = value, key.Line
	}
	return strictyaml.Errorf(line, "%s", p.Text)
}

// child returns the member or the element of a node, with its key or itself for the line; nil if there is none.
func child(n *strictyaml.Node, step string) (key, value *strictyaml.Node) {
	if n.Kind == strictyaml.Sequence {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Items) {
			return n.Items[i], n.Items[i]
		}
		return nil, nil
	}
	return n.Member(step)
}
