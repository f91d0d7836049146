package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

func newGrant(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "grant PLUGIN LINE",
		Short: "add a line to the grants of a plugin in the configuration file, confirmed at the terminal",
		Long: `Add a line to the grants of a plugin in the configuration file, such as
  sallyport grant files 'fs: read ~/notes/**'
It shows the change and asks; comments and order of the file stay. Running hosts apply it from the next call on.
The answer is read from the terminal, never from standard input.

To remove a line, delete it from the file: sallyport config prints the file and the number of each line. An answer given
with sallyport allow is no line of the file: sallyport grants lists the answers, sallyport revoke ID takes one back.

Exit code 1: you said no, and nothing was changed.`,
		Args: words(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return addGrant(c.Context(), std, s, args[0], args[1])
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return ui.Hint(err, "grant adds a line and has no flags of its own; to remove one, delete it from the file that sallyport config prints")
	})
	return c
}

// addGrant shows the change of the configuration, asks, and writes it.
func addGrant(ctx context.Context, std stdio, s *settings.Settings, plugin, line string) error {
	a, err := s.Add(plugin, line)
	if err != nil {
		return ui.Hint(err, "sallyport config prints every line; a grant is one, such as 'fs: read ~/notes/**'")
	}
	if err := agreed(ctx, std, additionText(a)+strangerNote(s, plugin), "write it?"); err != nil {
		return err
	}
	if err := host.Change(s, a.Write, host.Granted(consent.ByTerminal, a.Plugin, a.Line)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "wrote %s: %s may %s, from its next call on\n", a.File, ui.Line(a.Plugin), ui.Line(a.Line))
	return err
}

// strangerNote returns a note if neither the configuration nor the folder has a plugin of that name, which may be a
// typing error.
func strangerNote(s *settings.Settings, plugin string) string {
	for _, p := range s.Plugins {
		if p.Name == plugin {
			return ""
		}
	}
	entries, err := os.ReadDir(s.Text("dir"))
	if err != nil {
		return fmt.Sprintf("note    the configuration has no plugin %s, and no plugin folder to look for it in: is the name right?\n", plugin)
	}
	for _, e := range entries {
		if name, err := manifest.NameOfFile(e.Name()); err == nil && name == plugin {
			return ""
		}
	}
	return fmt.Sprintf("note    there is no plugin %s in %s, nor in the configuration\n", plugin, ui.Line(s.Text("dir")))
}

// additionText is the prompt for a change of the configuration.
func additionText(a *settings.Addition) string {
	text := fmt.Sprintf("file    %s\nplugin  %s\nchanges\n", ui.Line(a.File), ui.Line(a.Plugin))
	for _, line := range a.Difference {
		text += "  " + ui.Line(line) + "\n"
	}
	if a.Note != "" {
		text += "note    " + a.Note + "\n"
	}
	return text
}
