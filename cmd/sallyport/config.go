package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

func newConfig(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "print every effective value and where it came from",
		Args:  words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return printSettings(std, s)
		},
	}
}

// loadSettings reads the settings with the flags of c and the argument DIR.
func loadSettings(c *cobra.Command, dir string) (*settings.Settings, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	return settings.Load(settings.Options{File: file, Dir: dir, Flags: c.Flags()})
}

// loadHost is loadSettings for commands on the state folder: an invalid configuration is a warning, and its plugins are
// ignored.
func loadHost(c *cobra.Command, dir string) (*settings.Settings, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	s, broken, err := settings.LoadHost(settings.Options{File: file, Dir: dir, Flags: c.Flags()})
	if broken != nil {
		fmt.Fprintln(c.ErrOrStderr(), ui.Fit(ui.Line("warning: the configuration cannot be read, and nothing that it says of plugins is known here: "+broken.Error())))
	}
	return s, err
}

// printSettings prints a line for each value: key, value, source.
func printSettings(std stdio, s *settings.Settings) error {
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s\n", fileText(s))
	for _, v := range s.All() {
		text := v.Text
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key.Name, text, sourceText(v))
	}
	for _, name := range settings.Strays() {
		fmt.Fprintf(w, "%s\tsets nothing\tvariable\n", name)
	}
	if s.Ceiling != nil {
		fmt.Fprintf(w, "max_grants\t%s\tfile %s\n", ui.Count(len(s.Ceiling.Lines()), "line"), s.File)
	}
	for _, p := range s.Plugins {
		fmt.Fprintf(w, "plugins.%s\t%s\tfile %s:%d\n", p.Name, ui.Count(len(p.Grants.Lines()), "grant"), s.File, p.Line)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printWritten(std.out, s)
}

// printWritten prints max_grants and the plugins section in a separate table, since grants are long.
func printWritten(out io.Writer, s *settings.Settings) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, g := range s.Ceiling.Lines() {
		fmt.Fprintf(w, "max_grants\t%s\tfile %s:%d\n", ui.Line(g.String()), s.File, g.Line)
	}
	for _, p := range s.Plugins {
		for _, v := range p.Written {
			fmt.Fprintf(w, "plugins.%s.%s\t%s\tfile %s:%d\n", p.Name, ui.Line(v.Name), ui.Line(v.Text), s.File, v.Line)
		}
	}
	return w.Flush()
}

// fileText returns the path of the configuration file, marked if it does not exist.
func fileText(s *settings.Settings) string {
	if s.File != "" {
		return s.File
	}
	file, err := settings.DefaultFile()
	if err != nil {
		return "-"
	}
	return file + " (not there)"
}

func sourceText(v settings.Value) string {
	if v.Where == "" {
		return string(v.Source)
	}
	return string(v.Source) + " " + v.Where
}
