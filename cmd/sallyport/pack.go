package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

func newPack(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "pack FILE.wasm",
		Short: "write a plugin's description into its file",
		Long:  "Write the plugin's description into its file, so that it is listed without being run.",
		Args:  words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return pack(c.Context(), s, std, args[0])
		},
	}
}

// packedModule is a plugin with its description inside.
type packedModule struct {
	description *plugin.Description
	wasm        []byte
	unchanged   bool // the file has these bytes
}

// packed describes a plugin and returns its bytes with the description inside; the file stays.
func packed(ctx context.Context, s *settings.Settings, std stdio, file string) (m packedModule, err error) {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return m, fmt.Errorf("%s: not a WebAssembly module; pack the file that it names", file)
	}
	if document.Is(file) {
		return m, fmt.Errorf("%s: it is text without code, which needs no packing", file)
	}
	if script.Is(file) {
		return m, ui.Hint(fmt.Errorf("%s: a script is served as it is, which needs no packing", file), "sallyport build %s makes a module of it", ui.Line(shellword.Quoted(file)))
	}
	if m.description, err = describeFile(ctx, s, std, file); err != nil {
		return m, err
	}
	for _, p := range m.description.Manifest.Problems {
		fmt.Fprintf(std.err, "warning: %s\n", ui.Line(p))
	}
	if m.wasm, _, err = toolfile.Read(file); err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	if fileid.Digest(m.wasm) != m.description.Digest {
		return m, fmt.Errorf("%s: the file is being written", file)
	}
	if !m.description.Packed {
		if m.wasm, err = wasmbin.SetCustomSection(m.wasm, wasmbin.ManifestSection, m.description.Raw); err != nil {
			return m, fmt.Errorf("%s: %w", file, err)
		}
	}
	own, _, err := fileid.Read(file)
	m.unchanged = bytes.Equal(own, m.wasm)
	return m, err
}

// pack describes the plugin and writes the description into its file atomically.
func pack(ctx context.Context, s *settings.Settings, std stdio, file string) error {
	m, err := packed(ctx, s, std, file)
	if err != nil {
		return err
	}
	d := m.description
	if d.Packed {
		fmt.Fprintf(std.out, "%s is packed already\n", ui.Line(file))
		return nil
	}
	if file, err = filepath.EvalSymlinks(file); err != nil { // replace the link's target and not the link
		return err
	}
	if err := userfile.Replace(file, m.wasm); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "packed %s: %s, %s, %s\n", ui.Line(file),
		ui.Count(len(d.Manifest.Tools), "tool"), ui.Count(len(d.Manifest.Resources)+len(d.Manifest.Templates), "resource"), ui.Count(len(d.Manifest.Prompts), "prompt"))
	if text, others := identity(s, d.Name, fileid.Digest(m.wasm)); others {
		fmt.Fprintln(std.out, ui.Fit("its bytes are new, and "+text))
	}
	return nil
}
