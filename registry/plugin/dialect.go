package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	serverabi "github.com/sallyport-mcp/sallyport/runtime/abi/server"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Dialect detects and implements a calling convention.
type Dialect struct {
	Recognises func(*wasmbin.Binary) bool
	Dialect    runtime.Dialect
}

// selfDescribed is implemented by a dialect whose modules hold what their manifest is made of. The manifest section of such
// a module is only a copy, which could say something else.
type selfDescribed interface {
	Manifest(b *wasmbin.Binary) (json.RawMessage, error)
}

// packed returns the manifest that a module holds; nil if it has to be run to describe itself.
func packed(b *wasmbin.Binary, d runtime.Dialect) (json.RawMessage, error) {
	if d, ok := d.(selfDescribed); ok {
		return d.Manifest(b)
	}
	raw, _ := b.CustomSection(wasmbin.ManifestSection)
	if len(raw) == 0 {
		return nil, nil
	}
	return raw, nil
}

// launched returns the manifest of a module with the command line in its tool file, if it is a server. Another one in
// the manifest is removed.
func launched(b *wasmbin.Binary, raw json.RawMessage) json.RawMessage {
	var server json.RawMessage
	if file, ok := b.CustomSection(command.Section); ok {
		if p, err := command.Parse(file); err == nil {
			server = jsonraw.Get(p.Manifest(), "server")
		}
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil || server == nil && o.Get("server") == nil {
		return raw
	}
	o.Delete("server")
	if server != nil {
		o.Set("server", server)
	}
	return o.Append(nil)
}

// Errors for modules that are not plugins of this version, with a remedy.
var (
	errExtism = errors.New("this is an Extism plugin (it imports extism:host/env), and this host was made without that dialect; " +
		"build it with a Sallyport PDK")
	errCommand = errors.New("this is a WASI program (it exports _start) without a tool file beside it, which makes tools of its command line")
	errProgram = errors.New("this module exports mcp_handle and _start, so it was linked as a program; " +
		"build it with go build -buildmode=c-shared, or your language's way to make a reactor")
	errNoDialect = errors.New("this module is no plugin: it does not export mcp_handle; build it with a Sallyport PDK")
)

// named adds to the error of a program that is no MCP server and has no tool file the command that writes one. The error
// of a script, which has its place, needs no more words.
func named(err error, path string) error {
	if e, ok := errors.AsType[*runtime.GuestError](err); ok && script.Is(path) {
		return errors.New(e.Message)
	}
	silent := errors.Is(err, serverabi.ErrNoServer)
	if !silent && !errors.Is(err, errCommand) {
		return err
	}
	if near := toolfile.Misnamed(path); near != "" {
		return fmt.Errorf("%w: rename %s to %s", err, near, filepath.Base(toolfile.Beside(path)))
	}
	if silent {
		return &ProgramError{Path: path, Silent: err}
	}
	return &ProgramError{Path: path}
}

// ProgramError is returned for a WASI program without a tool file that is no MCP server. Its text has the command that
// writes one.
type ProgramError struct {
	Path   string // the file that the command names
	Silent error  // the reason that it is no server; nil if it was not started
}

// Error returns the reason and the command.
func (e *ProgramError) Error() string {
	text := fmt.Sprintf("%v: sallyport wrap %s writes a first one", errCommand, shellword.Quoted(e.Path))
	if e.Silent != nil {
		text += fmt.Sprintf("; and it is no MCP server that answers on its standard input: %v", e.Silent)
	}
	return text
}

// Unwrap returns the reason that it is no server.
func (e *ProgramError) Unwrap() error { return e.Silent }

// detect returns the first dialect that recognises a module, or an error that says why it is not a plugin.
func detect(b *wasmbin.Binary, dialects []Dialect) (runtime.Dialect, error) {
	if b.HasExport("mcp_handle") && b.HasExport("_start") && !b.HasExport("_initialize") {
		return nil, errProgram
	}
	for _, d := range dialects {
		if d.Recognises(b) {
			return d.Dialect, nil
		}
	}
	switch {
	case b.ImportsModule("extism:host/env"):
		return nil, errExtism
	case b.HasExport("_start"):
		return nil, errCommand
	}
	return nil, errNoDialect
}
