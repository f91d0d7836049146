package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/doctor"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func newList(std stdio) *cobra.Command {
	var asJSON, outdated bool
	var f fetchFlags
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "print the plugins of a folder, and why some do not load",
		Long: `Print the plugins of a folder, and why some do not load. The folder is loaded as serve does it, and nothing is
written: a plugin that is seen here first is not pinned by that. serve pins its bytes, to the name of its file, when it
serves them first; until then the list says that its grants wait for them.`,
		Args: words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args))
			if err != nil {
				return err
			}
			if err := checkDir(s.Text("dir")); err != nil {
				return err
			}
			if outdated {
				return listOutdated(c.Context(), s, std, &f, asJSON)
			}
			folder, err := loadFolder(c.Context(), s, std)
			if err != nil {
				return err
			}
			if asJSON {
				return ui.WriteJSON(std.out, folder.Plugins)
			}
			return printStatus(std.out, s.Text("dir"), folder.Plugins)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&outdated, "outdated", false, "ask the sources of the plugins that add installed for newer bytes")
	f.flags(c)
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	c.Flags().Bool("locked", false, "show the plugins that serve --locked would hold")
	return c
}

// loadFolder loads the folder once and returns the status of each plugin, and the published tools.
func loadFolder(ctx context.Context, s *settings.Settings, std stdio) (f doctor.Folder, err error) {
	l, err := host.OpenLock(s, lock.Options{ReadOnly: true, Later: true})
	if err != nil {
		return f, err
	}
	std.detach(s)
	defer std.flush()
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: logging.Quiet(s, logging.For(s, std.err)), Lock: l})
	if err != nil {
		return f, err
	}
	defer closeWithin(drain, h.Close)
	if err := h.Registry.Ready(ctx); err != nil {
		return f, err
	}
	for _, t := range h.Registry.Snapshot().Tools {
		f.Tools = append(f.Tools, t.Name)
	}
	f.Plugins = h.Registry.Plugins()
	return f, nil
}

func printStatus(w io.Writer, dir string, plugins []registry.Status) error {
	plugins = slices.DeleteFunc(plugins, func(p registry.Status) bool { return p.File == "" }) // built-in plugins
	if len(plugins) == 0 {
		return printEmpty(w, dir)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // the configuration names the plugins
		if err := printEmpty(w, dir); err != nil {
			return err
		}
	}
	var table bytes.Buffer
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, p := range plugins {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", ui.Line(p.Name), p.State, cmp.Or(ui.Line(p.Version), "-"),
			ui.Count(p.Tools, "tool"), ui.Count(p.Resources, "resource"), ui.Count(p.Prompts, "prompt"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range plugins { // its table row, then its remarks
		line, err := table.ReadString('\n')
		if err != nil {
			return err
		}
		fmt.Fprint(w, line)
		if p.Error != "" {
			ui.Indent(w, p.Error)
		}
		if text := waitingGrants(p); text != "" {
			ui.Indent(w, text)
		}
		if p.Updates != "" {
			ui.Indent(w, beforehand(p.Updates))
		}
		if p.Keeps != "" {
			ui.Indent(w, keeps(p.Keeps))
		}
		for _, warning := range p.Warnings {
			ui.Indent(w, "warning: "+warning)
		}
	}
	return nil
}

// waitingGrants returns a remark if the plugin's grants are not bound to pinned bytes yet; else "".
func waitingGrants(p registry.Status) string {
	if len(p.Grants) == 0 || p.Pinned || p.State == registry.StateDisabled {
		return ""
	}
	grants := "its " + ui.Count(len(p.Grants), "grant") + " wait"
	if len(p.Grants) == 1 {
		grants += "s"
	}
	if p.Digest == "" {
		return grants + " for a file of that name: the first one that serve finds is pinned, and has them; digest: in its settings names its bytes beforehand"
	}
	return grants + ": nothing is pinned under its name yet; serve pins these bytes (" + p.Digest + "), and digest: in its settings names them beforehand"
}

// keeps describes the state that a plugin keeps between calls.
func keeps(state string) string {
	whom := "for all callers"
	if state == "session" {
		whom = "for each session"
	}
	return "keeps its state from call to call, " + whom + " (state: " + state + ")"
}

// printEmpty prints whether the folder has no plugins or does not exist.
func printEmpty(w io.Writer, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		_, err := fmt.Fprintf(w, "there is no folder %s yet; make it and put .ts, .js, .py or .wasm files there\n", dir)
		return err
	}
	_, err := fmt.Fprintf(w, "no plugins in %s; put .ts, .js, .py or .wasm files there\n", dir)
	return err
}

// checkDir returns an error if the plugin folder is a file or unreadable. A missing folder is valid: it may be created
// later.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return ui.Hint(fmt.Errorf("%s is a file, not a folder", dir), "name the folder it lies in; sallyport inspect looks at one file")
	}
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the plugin folder cannot be read: %w", err)
}
