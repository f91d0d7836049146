package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/index"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

func newUpdate(std stdio) *cobra.Command {
	var f fetchFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "update [PLUGIN] [DIR]",
		Short: "fetch newer bytes of plugins that add installed, show the difference, and ask",
		Long: `Fetch the bytes that the source of each plugin has now, and show for each that changed the difference from the approved
ones: code, imports, wants, and definitions word by word. The approved bytes serve until you agree. Without PLUGIN all
plugins of the folder that add installed: one word is the folder if it cannot be a plugin's name, as ./plugins.

Exit code 1: you said no to one, or one could not be fetched; the others are updated.`,
		Args: words(0, 2),
		RunE: func(c *cobra.Command, args []string) error {
			name, dir := pluginOrFolder(args)
			s, err := loadSettings(c, dir)
			if err != nil {
				return err
			}
			if err := checkDir(s.Text("dir")); err != nil {
				return err
			}
			if asJSON {
				return printUpdates(c.Context(), s, std, &f, name)
			}
			return updateAll(c.Context(), s, std, &f, name)
		},
	}
	f.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the state and the changes of each plugin as JSON, and change nothing")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// pluginOrFolder returns the arguments [PLUGIN] [DIR]; "" is one that was not given.
func pluginOrFolder(args []string) (name, dir string) {
	if len(args) == 1 && manifest.CheckName(args[0]) != nil {
		return "", args[0]
	}
	return optional(args), optional(args[min(len(args), 1):])
}

// addedPlugin is a plugin of the folder that add installed.
type addedPlugin struct {
	name string
	pin  lock.Pin
}

// addedPlugins returns the plugins of the folder that add installed, or the one of a name; "" is all.
func addedPlugins(s *settings.Settings, name string) (all []addedPlugin, err error) {
	l, err := host.OpenLock(s, lock.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for _, known := range l.Names() {
		if pin, _ := l.Pin(known); pin.Origin != nil && pin.Folder == s.Text("dir") && (name == "" || name == known) {
			all = append(all, addedPlugin{known, pin})
		}
	}
	if name == "" || len(all) > 0 {
		return all, nil
	}
	err = fmt.Errorf("no source is known of a plugin %q in %s", name, s.Text("dir"))
	if pin, ok := l.Pin(name); ok && pin.Origin != nil {
		return nil, ui.Hint(err, "sallyport update %s %s looks into the folder that it was added to", name, shellword.Quoted(pin.Folder))
	}
	if info, failed := os.Stat(name); failed == nil && info.IsDir() {
		return nil, ui.Hint(err, "sallyport update ./%s is for the plugins of that folder", name)
	}
	return nil, ui.Hint(err, "sallyport add SOURCE --name %s --replace names one", name)
}

// updateAll updates each plugin, and continues with the next one after a failure.
func updateAll(ctx context.Context, s *settings.Settings, std stdio, f *fetchFlags, name string) error {
	all, err := addedPlugins(s, name)
	if err != nil {
		return err
	}
	failed := false
	for _, p := range all {
		var code exitCode
		switch err := updateOne(ctx, s, std, f, p); {
		case errors.As(err, &code), ctx.Err() != nil:
			failed = true
		case err != nil:
			failed = true
			ui.Complain(std.err, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(all) == 0 {
		fmt.Fprintf(std.out, "no plugin in %s was installed by sallyport add\n", ui.Line(s.Text("dir")))
	}
	if failed {
		return exitCode(exitTool)
	}
	return nil
}

// locate returns the reference of the newest bytes of a plugin. If an index named the source, it is asked for them: source
// and index have to agree, and a host that the operator never named stays one that has to be public.
func (p addedPlugin) locate(ctx context.Context, f *source.Fetcher) (source.Ref, *index.Entry, error) {
	o := p.pin.Origin
	if o.Index == "" {
		r, err := source.Parse(o.From)
		return r, nil, err
	}
	address, err := index.Parse(o.Index)
	if err != nil {
		return source.Ref{}, nil, err
	}
	e, err := index.Find(ctx, f, []index.Address{address}, o.Entry)
	if err == nil && e.From != o.From {
		err = fmt.Errorf("the index %s names %s as the source of %s now, and it was added from %s", o.Index, e.From, o.Entry, o.From)
	}
	if err != nil {
		return source.Ref{}, nil, ui.Hint(hinted(err), "sallyport remove %s, and sallyport add SOURCE takes it from a source without an index", p.name)
	}
	return e.Ref(), &e, nil
}

// candidate fetches the bytes that the source of a plugin has now, and stages them. The caller must close it.
func (f *fetchFlags) candidate(ctx context.Context, s *settings.Settings, std stdio, p addedPlugin) (*install.Candidate, error) {
	r, entry, err := p.locate(ctx, f.fetcher())
	if err != nil {
		return nil, err
	}
	artifact, err := f.fetchNamed(ctx, s, r, entry)
	if err != nil {
		return nil, err
	}
	return install.Prepare(ctx, install.Options{Settings: s, Logger: logging.For(s, std.err), Artifact: artifact, Name: stemOf(p), Replace: true})
}

// updateOne updates one plugin.
func updateOne(ctx context.Context, s *settings.Settings, std stdio, f *fetchFlags, p addedPlugin) error {
	std.detach(s)
	defer std.flush()
	c, err := f.candidate(ctx, s, std, p)
	if errors.Is(err, install.ErrInstalled) {
		fmt.Fprintf(std.out, "%s is up to date\n", ui.Line(p.name))
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return installed(ctx, s, std, c)
}

// updatable is the state of one plugin, with the changes that an update would bring.
type updatable struct {
	outdated
	Version  string   `json:"version,omitempty"`  // of the newest bytes, as they state it
	Older    bool     `json:"older,omitempty"`    // that version is before the one that was added, or there is none any more
	Returned bool     `json:"returned,omitempty"` // the newest bytes were approved before, and replaced since
	Changes  *changes `json:"changes,omitempty"`  // null unless it is outdated
}

// printUpdates prints the changes of each plugin. A failure is a row, and the exit code says so.
func printUpdates(ctx context.Context, s *settings.Settings, std stdio, f *fetchFlags, name string) error {
	all, err := addedPlugins(s, name)
	if err != nil {
		return err
	}
	std.detach(s)
	defer std.flush()
	rows, failed := []updatable{}, false
	for _, p := range all {
		row := updatable{outdated: outdated{Name: p.name, From: p.pin.Origin.From, Digest: p.pin.Origin.Digest, State: "current"}}
		if err := f.foresee(ctx, s, std, p, &row); err != nil {
			failed = true
			row.State, row.Error = "unknown", err.Error()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rows = append(rows, row)
	}
	if err := ui.WriteJSON(std.out, rows); err != nil {
		return err
	}
	if failed {
		return exitCode(exitTool)
	}
	return nil
}

// foresee fills a row with the newest bytes of a plugin, and their changes.
func (f *fetchFlags) foresee(ctx context.Context, s *settings.Settings, std stdio, p addedPlugin, row *updatable) (err error) {
	c, err := f.candidate(ctx, s, std, p)
	if errors.Is(err, install.ErrInstalled) {
		row.Newest = row.Digest
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	row.Newest, row.State = c.Origin.Digest, "outdated"
	row.Version, row.Older, row.Returned = c.Origin.Version, isOlder(c), c.Returned
	if c.Review == nil {
		return nil
	}
	found, err := changesOf(ctx, s, c.Review)
	row.Changes = &found
	return err
}

// stemOf returns the name under which add installed a plugin.
func stemOf(p addedPlugin) string {
	stem, _ := install.Stem(p.pin.File)
	return stem
}

// outdated is the state of one plugin at its source.
type outdated struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	Digest string `json:"digest"`           // when it was added
	Newest string `json:"newest,omitempty"` // now
	State  string `json:"state"`            // current, outdated or unknown
	Error  string `json:"error,omitempty"`
}

// listOutdated prints the plugins that add installed, and whether their sources have other bytes now.
func listOutdated(ctx context.Context, s *settings.Settings, std stdio, f *fetchFlags, asJSON bool) error {
	all, err := addedPlugins(s, "")
	if err != nil {
		return err
	}
	rows := []outdated{}
	for _, p := range all {
		rows = append(rows, f.compare(ctx, p))
	}
	if asJSON {
		return ui.WriteJSON(std.out, rows)
	}
	return printOutdated(std.out, s, rows)
}

// compare asks the source of a plugin for its newest bytes.
func (f *fetchFlags) compare(ctx context.Context, p addedPlugin) outdated {
	row := outdated{Name: p.name, From: p.pin.Origin.From, Digest: p.pin.Origin.Digest, State: "current"}
	fetcher := f.fetcher()
	r, entry, err := p.locate(ctx, fetcher)
	switch {
	case err != nil:
	case entry != nil:
		row.Newest = entry.Digest
	default:
		row.Newest, err = fetcher.Newest(ctx, r)
	}
	switch {
	case err != nil:
		row.State, row.Error = "unknown", err.Error()
	case row.Newest != row.Digest:
		row.State = "outdated"
	}
	return row
}

func printOutdated(w io.Writer, s *settings.Settings, rows []outdated) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "no plugin in %s was installed by sallyport add\n", ui.Line(s.Text("dir")))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", ui.Line(r.Name), r.State, ui.Line(r.From))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Error != "" {
			ui.Indent(w, r.Error)
		}
	}
	return nil
}
