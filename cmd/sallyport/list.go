package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry"
)

func newList(std stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "print the plugins of a folder, and what is wrong with those that do not load",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args))
			if err != nil {
				return err
			}
			plugins, err := statusOf(c.Context(), s, std)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(std.out, plugins)
			}
			return printStatus(std.out, s.Text("dir"), plugins)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// statusOf loads the folder once and says where each plugin stands.
func statusOf(ctx context.Context, s *settings.Settings, std stdio) ([]registry.Status, error) {
	h, err := openHost(ctx, s, newLogger(std.err, "error", false))
	if err != nil {
		return nil, err
	}
	defer closeWithin(drain, h.close)
	if err := h.registry.Ready(ctx); err != nil {
		return nil, err
	}
	return h.registry.Plugins(), nil
}

func printStatus(w io.Writer, dir string, plugins []registry.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	files := 0
	for _, p := range plugins {
		if p.File == "" {
			continue // the host's own
		}
		files++
		fmt.Fprintf(t, "%s\t%s\t%s\t%d tools\t%d resources\t%d prompts\n", printable(p.Name), p.State, printable(p.Version), p.Tools, p.Resources, p.Prompts)
		if p.Error != "" {
			fmt.Fprintf(t, "  %s\n", printable(p.Error))
		}
		for _, warning := range p.Warnings {
			fmt.Fprintf(t, "  warning: %s\n", printable(warning))
		}
	}
	if files == 0 {
		fmt.Fprintf(t, "no plugins in %s; put .wasm files there\n", dir)
	}
	return t.Flush()
}

// printJSON writes v as indented JSON, with addresses as they are.
func printJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printableJSON(out.Bytes()))
	return err
}
