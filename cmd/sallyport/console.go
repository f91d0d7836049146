package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
)

func newConsole(std stdio) *cobra.Command {
	var stay bool
	c := &cobra.Command{
		Use:   "console",
		Short: "open the page where you answer, approve and grant, in a browser",
		Long: `Open the page where you answer questions, approve what is held, grant what was refused and add plugins by their links.
All hosts of a state folder have one, which one of them serves; where none runs this command does, until you end it.

The address is a key: it is shown at the terminal, and never on standard output.`,
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return openConsole(c.Context(), s, std, !stay)
		},
	}
	c.Flags().BoolVar(&stay, "no-browser", false, "only show the address at the terminal")
	return c
}

// openConsole finds the console's page, shows its address, and serves it while no host does.
func openConsole(ctx context.Context, s *settings.Settings, std stdio, browse bool) error {
	at, serving, stop, err := host.FindConsole(s, logging.For(s, std.err), offered)
	if err != nil {
		return err
	}
	defer stop()
	seen := showAddress(at) == nil
	opened := browse && browser() != nil && openInBrowser(ctx, s, at) == nil
	if !seen && !opened {
		return ui.Hint(errors.New("there is neither a terminal to show the address at nor a desktop to open it on"), "start the command at a terminal")
	}
	if opened {
		fmt.Fprintln(std.out, "the console is open in the browser")
	}
	if serving {
		fmt.Fprintln(std.out, "no host runs: this command serves the page until you end it")
		<-ctx.Done()
	}
	return nil
}

// showAddress prints the address on the terminal.
func showAddress(at string) error {
	t, err := ui.OpenTerminal()
	if err != nil {
		return err
	}
	return errors.Join(t.Show("the console is on "+at), t.Close())
}

// browser returns the command that opens a file on this desktop; nil if there is none.
func browser() []string {
	switch {
	case goruntime.GOOS == "darwin":
		return []string{"open"}
	case goruntime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return nil
	}
	if name, err := exec.LookPath("xdg-open"); err == nil {
		return []string{name}
	}
	return nil
}

// openInBrowser opens an owner-only file that redirects to the address. The address itself must not be an argument:
// command lines are visible to every user of the machine.
func openInBrowser(ctx context.Context, s *settings.Settings, at string) error {
	file := filepath.Join(s.Text("state"), "console.html")
	page := "<!doctype html><meta charset=\"utf-8\"><title>Sallyport</title><script>location.replace(\"" + at + "\")</script>\n"
	if _, err := userfile.Change(file, func([]byte) ([]byte, error) { return []byte(page), nil }, userfile.Options{Fleeting: true}); err != nil {
		return err
	}
	command := append(browser(), file)
	return exec.CommandContext(ctx, command[0], command[1:]...).Run()
}
