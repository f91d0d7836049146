package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/registry/document"
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

// pack describes the plugin and writes the description into its file atomically.
func pack(ctx context.Context, s *settings.Settings, std stdio, file string) error {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return fmt.Errorf("%s: not a WebAssembly module; pack the file that it names", file)
	}
	if document.Is(file) {
		return fmt.Errorf("%s: it is text without code, which needs no packing", file)
	}
	if script.Is(file) {
		return ui.Hint(fmt.Errorf("%s: a script is served as it is, which needs no packing", file), "sallyport build %s makes a module of it", ui.Line(file))
	}
	d, err := describeFile(ctx, s, std, file)
	if err != nil {
		return err
	}
	for _, p := range d.Manifest.Problems {
		fmt.Fprintf(std.err, "warning: %s\n", ui.Line(p))
	}
	if d.Packed {
		fmt.Fprintf(std.out, "%s is packed already\n", ui.Line(file))
		return nil
	}
	if file, err = filepath.EvalSymlinks(file); err != nil { // replace the link's target and not the link
		return err
	}
	wasm, _, err := toolfile.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)) != d.Digest {
		return fmt.Errorf("%s: the file is being written", file)
	}
	packed, err := wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, d.Raw)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := userfile.Replace(file, packed); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "packed %s: %s, %s, %s\n", ui.Line(file),
		ui.Count(len(d.Manifest.Tools), "tool"), ui.Count(len(d.Manifest.Resources)+len(d.Manifest.Templates), "resource"), ui.Count(len(d.Manifest.Prompts), "prompt"))
	if text, others := identity(s, d.Name, fmt.Sprintf("sha256:%x", sha256.Sum256(packed))); others {
		fmt.Fprintln(std.out, ui.Fit("its bytes are new, and "+text))
	}
	return nil
}
