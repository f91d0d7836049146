package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
)

func newRemove(std stdio) *cobra.Command {
	var purge bool
	c := &cobra.Command{
		Use:   "remove PLUGIN [DIR]",
		Short: "remove a plugin from its folder, confirmed at the terminal",
		Long: `Remove a plugin from its folder. Its pin, your answers and its stored keys stay, so that the same bytes can come back,
and other bytes of its name are held; --purge removes these too. Its lines in the configuration file always stay: they
are yours. After the last plugin of the folder you are asked about each MCP client that starts a host on it: its entry
is removed, everything else in its file stays, and a backup is kept.

Exit code 1: you said no, and nothing was changed.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[1:]))
			if err != nil {
				return err
			}
			server, err := launchedServer(c, s)
			if err != nil {
				return err
			}
			return remove(c.Context(), s, std, args[0], purge, wiring{server: server})
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "also remove its pin, your answers for it, the keys that it stored, and its recorded calls")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// remove asks, and removes a plugin.
func remove(ctx context.Context, s *settings.Settings, std stdio, name string, purge bool, w wiring) error {
	r, err := install.PrepareRemoval(s, name)
	var elsewhere *install.ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return ui.Hint(err, "sallyport remove %s %s removes it", name, shellword.Quoted(elsewhere.Folder))
	case errors.Is(err, install.ErrAbsent):
		return ui.Hint(err, "sallyport list %s names those that are there", shellword.Quoted(s.Text("dir")))
	case err != nil:
		return err
	case len(r.Files) == 0 && !purge:
		return ui.Hint(fmt.Errorf("%w %q in %s: only its pin is left", install.ErrAbsent, name, s.Text("dir")), "--purge removes that too, with your answers and its keys")
	}
	if err := agreed(ctx, std, removalText(r, purge), "remove it?"); err != nil {
		return err
	}
	removal := consent.Answered{By: consent.ByTerminal, Answer: "remove", Plugin: r.Name, Digest: r.Pin.Digest, What: cmp.Or(strings.Join(r.Files, " "), "its pin")}
	if err := host.Change(s, func() error { return r.Remove(ctx, purge) }, removal); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s is removed: hosts that run stop serving it\n", ui.Line(r.Name))
	if r.Grants > 0 {
		stay := "stay"
		if r.Grants == 1 {
			stay = "stays"
		}
		fmt.Fprintf(std.out, "its %s of grants %s in %s\n", ui.Count(r.Grants, "line"), stay, ui.Line(s.Watched()))
	}
	if r.Last {
		return w.offerUnwiring(ctx, std)
	}
	return nil
}

// removalText lists the files and records that a removal deletes.
func removalText(r *install.Removal, purge bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "plugin  %s\n", ui.Line(r.Name))
	for _, file := range r.Files {
		fmt.Fprintf(&text, "file    %s\n", ui.Line(file))
	}
	if r.Pin.Origin != nil {
		fmt.Fprintf(&text, "from    %s\n", ui.Line(r.Pin.Origin.From))
	}
	if purge {
		fmt.Fprintln(&text, "purge   its pin, your answers for it, the keys that it stored, and its recorded calls")
	}
	return text.String()
}
