package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
)

// noClient is the value of --client with which no client is asked about.
const noClient = "none"

// wiring lets MCP clients launch a host on one plugin folder.
type wiring struct {
	server clients.Server
	chosen []string // names of clients; none asks about those of this user
}

// checkClients returns an error for an unknown client.
func checkClients(names []string) error {
	for _, name := range names {
		if _, err := clients.Find(name); err != nil && (name != noClient || len(names) > 1) {
			return err
		}
	}
	return nil
}

// wire gives the chosen clients an entry. Without a choice it asks about each client of this user, unless one of them
// serves the folder already.
func (w wiring) wire(ctx context.Context, std stdio) error {
	if slices.Contains(w.chosen, noClient) {
		return nil
	}
	var failed error
	for _, name := range w.chosen {
		c, err := clients.Find(name)
		if err == nil {
			err = w.add(std, c)
		}
		failed = errors.Join(failed, err)
	}
	if len(w.chosen) > 0 || len(w.wired()) > 0 {
		return failed
	}
	for _, c := range installedClients() {
		file, err := c.File()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("\nclient  %s\nfile    %s\nentry   %s %s\n", c.Title, ui.Line(file), ui.Line(w.server.Command), ui.Line(strings.Join(w.server.Args, " ")))
		yes, err := confirm(ctx, text, "let "+c.Title+" start it?")
		if err != nil {
			return err
		}
		if yes {
			failed = errors.Join(failed, w.add(std, c))
		}
	}
	return failed
}

// add gives a client an entry.
func (w wiring) add(std stdio, c clients.Client) error {
	file, err := c.File()
	if err != nil {
		return err
	}
	name, backup, err := c.Wire(file, w.server)
	if errors.Is(err, clients.ErrUnchanged) {
		fmt.Fprintf(std.out, "%s starts it already, as %s\n", c.Title, ui.Line(name))
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s starts it, as %s in %s\n", c.Title, ui.Line(name), ui.Line(file))
	toldBackup(std, c, backup)
	return nil
}

// offerUnwiring asks for each client that serves the folder whether its entries are removed.
func (w wiring) offerUnwiring(ctx context.Context, std stdio) error {
	var failed error
	for _, c := range w.wired() {
		file, err := c.File()
		if err != nil {
			return err
		}
		yes, err := confirm(ctx, fmt.Sprintf("\nno plugin is left in the folder\nclient  %s\nfile    %s\n", c.Title, ui.Line(file)),
			"remove its entry from "+c.Title+"?")
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		names, backup, err := c.Unwire(file, w.server)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		fmt.Fprintf(std.out, "removed %s from %s\n", ui.Line(strings.Join(names, ", ")), ui.Line(file))
		toldBackup(std, c, backup)
	}
	return failed
}

// wired returns the clients with an entry that serves the folder. Files that cannot be read have none: doctor names them.
func (w wiring) wired() (found []clients.Client) {
	for _, c := range installedClients() {
		file, err := c.File()
		if err != nil {
			continue
		}
		text, err := userfile.Read(file)
		if err != nil {
			continue
		}
		if names, err := c.Serving(text, w.server); err == nil && len(names) > 0 {
			found = append(found, c)
		}
	}
	return found
}

// installedClients returns the clients that this user has.
func installedClients() (found []clients.Client) {
	for _, name := range clients.List() {
		if c, err := clients.Find(name); err == nil && c.Installed() {
			found = append(found, c)
		}
	}
	return found
}

// toldBackup prints the name of the backup, and that the client has to be restarted.
func toldBackup(std stdio, c clients.Client, backup string) {
	if backup != "" {
		fmt.Fprintf(std.out, "the file as it was is %s\n", backup)
	}
	fmt.Fprintf(std.out, "restart %s: it reads the file when it starts\n", c.Title)
}
