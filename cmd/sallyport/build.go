package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/gobuild"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

func newBuild(std stdio) *cobra.Command {
	var target, out string
	c := &cobra.Command{
		Use:   "build --go PACKAGE@VERSION|DIR",
		Short: "build a Go program or MCP server, unchanged, with HTTP over its grants",
		Long: "Build a Go program or MCP server for WASI, without a change of its source. The go command compiles it with one file of net/http replaced, " +
			"so that each of its HTTP requests passes the gate and needs a net grant.",
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if target == "" {
				return ui.Hint(errors.New("--go is missing: the program to build"), "%s", c.UseLine())
			}
			return buildGo(c.Context(), std, target, out)
		},
	}
	c.Flags().StringVar(&target, "go", "", "main `package` with its version, or its folder")
	c.Flags().StringVarP(&out, "output", "o", "", "`file` to write; the default is the program's name with .wasm")
	return c
}

// buildGo builds a program and writes its file.
func buildGo(ctx context.Context, std stdio, target, out string) error {
	if err := replaceable(out); err != nil { // before a build that takes its time
		return err
	}
	b, err := gobuild.Build(ctx, target, std.err)
	if err != nil {
		return err
	}
	if out == "" {
		out = b.Name + ".wasm"
	}
	if err := writeModule(out, b.Wasm); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "built %s, %d bytes, from %s\n", ui.Line(out), len(b.Wasm), ui.Line(origin(&b.Source)))
	fmt.Fprintln(std.out, "an MCP server is ready as it is; a command-line program needs a tool file, which wrap drafts:")
	fmt.Fprintf(std.out, "  sallyport inspect %s\n  sallyport wrap %s\n", ui.Line(out), ui.Line(out))
	return nil
}

// origin describes the source of a file.
func origin(s *plugin.Source) string {
	text := s.Package
	if s.Version != "" {
		text += " " + s.Version
	}
	if s.Sum != "" {
		text += " (" + s.Sum + ")"
	}
	return text + " with " + s.Go
}

// replaceable returns an error if a file that is there is no module. An empty name is no file.
func replaceable(file string) error {
	old, _, err := fileid.Read(file)
	switch {
	case file == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", ui.Line(file), fileid.Plain(err))
	case !bytes.HasPrefix(old, []byte("\x00asm")):
		return ui.Hint(fmt.Errorf("%s: the file there is no WebAssembly module", ui.Line(file)), "-o names another file")
	}
	return nil
}

// writeModule writes a module atomically. It replaces no file that is something else.
func writeModule(file string, wasm []byte) (err error) {
	if err := replaceable(file); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".sallyport-build-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(wasm)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
