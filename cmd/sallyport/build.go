package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/gobuild"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

func newBuild(std stdio) *cobra.Command {
	var target, out string
	c := &cobra.Command{
		Use:   "build SCRIPT|--go PACKAGE@VERSION|DIR",
		Short: "build a module of a script, or of a Go program or MCP server, unchanged, with HTTP over its grants",
		Long: `Build a module of a script (.ts, .js or .py) with everything it imports, which needs no other file. The script is
started once, without grants: one that cannot be served is not built.

With --go build a Go program or MCP server for WASI, without a change of its source. The go command compiles it with one
file of net/http replaced, so that each of its HTTP requests passes the gate and needs a net grant.`,
		Args: words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && target == "":
				s, err := loadSettings(c, "")
				if err != nil {
					return err
				}
				return buildScript(c.Context(), s, std, args[0], out)
			case len(args) == 1:
				return ui.Hint(errors.New("a script and --go are two things to build"), "%s", c.UseLine())
			case target == "":
				return ui.Hint(errors.New("nothing to build: name a script, or a Go program after --go"), "%s", c.UseLine())
			}
			return buildGo(c.Context(), std, target, out)
		},
	}
	c.Flags().StringVar(&target, "go", "", "main `package` with its version, or its folder")
	c.Flags().StringVarP(&out, "output", "o", "", "`file` to write; the default is the program's name with .wasm, for a script in a folder build")
	return c
}

// buildScript writes the module of a script, with the engine. Python is parsed by the engine alone, so the script is
// described first: its errors are those of a script that is served.
func buildScript(ctx context.Context, s *settings.Settings, std stdio, file, out string) error {
	if !script.Is(file) {
		return ui.Hint(fmt.Errorf("%s: it is no script: those end in .ts, .js or .py", ui.Line(file)), "%s", noScript(file))
	}
	if _, err := describeFile(ctx, s, std, file); err != nil {
		return err
	}
	container, _, err := script.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", ui.Line(file), fileid.Plain(err))
	}
	wasm, err := script.Expand(container)
	if err != nil {
		return fmt.Errorf("%s: %w", ui.Line(file), err)
	}
	if out == "" { // not beside the script
		out = filepath.Join("build", strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))+".wasm")
		if err := os.MkdirAll("build", 0o755); err != nil {
			return err
		}
	} else if same := sameName(out); same != "" {
		return ui.Hint(fmt.Errorf("%s would be a second plugin with the name of %s beside it, and none of two with one name is served", ui.Line(out), ui.Line(same)),
			"sallyport build %s writes it into the folder build", shellword.Quoted(file))
	}
	if err := writeModule(out, wasm); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "built %s, %d bytes: pack writes its description into it\n  sallyport pack %s\n", ui.Line(out), len(wasm), ui.Line(shellword.Quoted(out)))
	return nil
}

// noScript returns the next step for a program that build was given as a script.
func noScript(file string) string {
	info, err := os.Stat(file)
	switch ext := filepath.Ext(file); {
	case ext == ".go":
		return "sallyport build --go DIR builds the Go program in a folder"
	case strings.Contains(file, "@") || err == nil && info.IsDir():
		return "sallyport build --go " + shellword.Quoted(file)
	case ext == ".rs":
		return "cargo build --target wasm32-wasip1 builds a Rust program; docs/programs.md shows how to serve it"
	case ext == ".c" || ext == ".cc" || ext == ".cpp":
		return "clang --target=wasm32-wasip1 with the sysroot of wasi-sdk builds a C program; docs/programs.md shows how to serve it"
	}
	return "sallyport build --go builds a Go program; docs/programs.md has others"
}

// sameName returns the script that would be a plugin of the same name in the folder of a module; "" is none.
func sameName(module string) string {
	name, err := manifest.NameOfFile(module)
	entries, _ := os.ReadDir(filepath.Dir(module)) // writing reports a folder that is not there
	for _, e := range entries {
		other, unnamed := manifest.NameOfFile(e.Name())
		if script.Is(e.Name()) && err == nil && unnamed == nil && strings.EqualFold(other, name) {
			return e.Name()
		}
	}
	return ""
}

// buildGo builds a program and writes its file.
func buildGo(ctx context.Context, std stdio, target, out string) error {
	if err := writable(out); err != nil { // before a build that takes its time
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
	word := ui.Line(shellword.Quoted(out))
	fmt.Fprintf(std.out, "an MCP server is ready as it is:\n  sallyport inspect %s\n", word)
	fmt.Fprintf(std.out, "a command-line program needs a tool file, which wrap drafts:\n  sallyport wrap %s\n", word)
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
		return ui.Hint(fmt.Errorf("%s exists, and is no WebAssembly module", ui.Line(file)), "-o names another file")
	}
	return nil
}

// writable is replaceable for a file in a folder that has to be there.
func writable(file string) error {
	if _, err := os.Stat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
		return noFolder(file)
	}
	return replaceable(file)
}

func noFolder(file string) error {
	return ui.Hint(fmt.Errorf("%s: its folder does not exist", ui.Line(file)), "mkdir %s", shellword.Quoted(filepath.Dir(file)))
}

// writeModule writes a module atomically. It replaces no file that is something else.
func writeModule(file string, wasm []byte) (err error) {
	if err := replaceable(file); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".sallyport-build-*")
	if errors.Is(err, fs.ErrNotExist) {
		return noFolder(file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ui.Line(file), fileid.Plain(err))
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
