package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/hypermcp"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

func newImport(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "turn another host's configuration into one of ours",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportHyperMCP(std))
	return c
}

func newImportHyperMCP(std stdio) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "hyper-mcp CONFIG",
		Short: "turn a configuration of hyper-mcp (JSON or YAML) into a sallyport.yaml",
		Long: "Write the sallyport.yaml that equals a configuration of hyper-mcp, and say line by\n" +
			"line for each omitted and each narrowed setting. No file is overwritten.",
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			offer := func(file string) (hypermcp.Offer, error) {
				d, err := describeFile(c.Context(), s, std, file)
				if err != nil {
					return hypermcp.Offer{}, err
				}
				return offerOf(d.Manifest), nil
			}
			return importHyperMCP(std, args[0], out, offer)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "sallyport.yaml", "`file` to write; - is standard output")
	return c
}

// importHyperMCP writes the converted configuration to out, and the remarks to standard error.
func importHyperMCP(std stdio, file, out string, offer func(string) (hypermcp.Offer, error)) error {
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		return ui.Hint(fmt.Errorf("%s: TOML is not read", file), "write it as JSON or YAML, with the same keys")
	}
	root, err := settings.Tree(file)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return err
	}
	text, remarks, err := hypermcp.Import(root, hypermcp.Options{Dir: dir, Offer: offer})
	var pe *grant.ParseError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s:%d: %s", file, pe.Line, pe.Message)
	} else if err != nil {
		return err
	}
	if err := writeImported(std.out, out, "# from "+ui.Line(filepath.Base(file))+", by sallyport import hyper-mcp\n"+text); err != nil {
		return err
	}
	for _, r := range remarks {
		fmt.Fprintf(std.err, "%s:%d: %s\n", ui.Line(file), r.Line, ui.Line(r.Text))
	}
	if out != "-" {
		fmt.Fprintf(std.err, "wrote %s; use it with --config %s\n", ui.Line(out), ui.Line(out))
	}
	return nil
}

// writeImported creates a file; an existing one is an error. "-" is standard output.
func writeImported(w io.Writer, out, text string) (err error) {
	if out == "-" {
		_, err := io.WriteString(w, text)
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ui.Hint(fmt.Errorf("%s is there already", out), "name another with --out, or write to standard output with --out -")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text)
	return err
}

// offerOf lists the names a manifest publishes.
func offerOf(m *manifest.Manifest) hypermcp.Offer {
	ids := func(k manifest.Kind) (all []string) {
		for _, e := range m.Entries(k) {
			all = append(all, e.ID)
		}
		return all
	}
	pairs := func(k manifest.Kind) (all [][2]string) {
		for _, e := range m.Entries(k) {
			name, _ := jsonraw.String(e.Members.Get("name"))
			all = append(all, [2]string{name, e.ID})
		}
		return all
	}
	return hypermcp.Offer{Tools: ids(manifest.Tool), Prompts: ids(manifest.Prompt),
		Resources: pairs(manifest.Resource), Templates: pairs(manifest.Template)}
}
