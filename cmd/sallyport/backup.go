package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

func newBackup(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "backup NEW",
		Short: "copy the state folder while hosts run",
		Long: `Copy the state folder to a new folder while hosts run: the store as it is at one moment, the audit log, keys, tokens,
approvals and recordings. Caches and the places of running hosts are left out. The copy appears under its name when it
is whole. It holds keys and tokens.

A store in PostgreSQL is not in it: pg_dump makes its backup. The configuration file and the plugin folder are files of
yours. To restore, move the copy to the place of the state folder while no host runs.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return backup(c.Context(), std, s, args[0])
		},
	}
}

// backup copies the state folder to a new one.
func backup(ctx context.Context, std stdio, s *settings.Settings, to string) error {
	from := s.Text("state")
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return ui.Hint(fmt.Errorf("%s exists", to), "choose the name of a new folder")
	}
	if inside(from, to) {
		return fmt.Errorf("%s is in the state folder itself", to)
	}
	c := copying{from: from, to: to + ".partial"}
	if err := os.Mkdir(c.to, 0o700); errors.Is(err, fs.ErrExist) {
		return ui.Hint(fmt.Errorf("%s exists: another backup runs, or one was interrupted", c.to), "remove it if none runs")
	} else if err != nil {
		return err
	}
	err := c.all(ctx, s.Text("store") != "")
	if err == nil {
		err = os.Rename(c.to, to)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(c.to))
	}
	fmt.Fprintf(std.out, "%s is a copy of %s\n", ui.Line(to), ui.Line(from))
	if s.Text("store") != "" {
		fmt.Fprintln(std.out, "the store is in PostgreSQL and not in the copy: pg_dump makes its backup")
	}
	return nil
}

// inside reports whether a path is below a folder, by any way to it.
func inside(folder, path string) bool {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// copying is one copy of a state folder.
type copying struct{ from, to string }

// passing are the entries of a state folder that are copied in their own way, are made again, or are of the processes that
// run: places of hosts, and files of calls under way, which their host completes or undoes.
var passing = []string{"compiled", "hosts", "running", "console", "scratch", "landing", "audit"}

// all copies the folder. The audit log comes after the store, whose changes it has within a second.
func (c *copying) all(ctx context.Context, elsewhere bool) error {
	if !elsewhere {
		s := store.New(store.Options{Dir: c.from})
		err := s.Backup(ctx, filepath.Join(c.to, "state.db"))
		if err = errors.Join(err, s.Close()); err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("the store: %w", err)
		}
	}
	if err := audit.Backup(settings.StateFolder(c.from).Audit(), settings.StateFolder(c.to).Audit()); err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return c.folder(ctx, "")
}

// folder copies the files of a folder, with those below it.
func (c *copying) folder(ctx context.Context, name string) error {
	entries, err := os.ReadDir(filepath.Join(c.from, name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case name == "" && (slices.Contains(passing, path) || strings.HasPrefix(path, "state.db")), temporary(path):
		case e.IsDir():
			if err := os.Mkdir(filepath.Join(c.to, path), 0o700); err != nil {
				return err
			}
			err = c.folder(ctx, path)
		case e.Type().IsRegular():
			err = c.file(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return err
		}
		err = nil
	}
	return nil
}

// temporary reports whether a file is one that is renamed when it is whole.
func temporary(path string) bool {
	return slices.Contains([]string{".busy", ".new"}, filepath.Ext(path))
}

// file copies one file to the disk.
func (c *copying) file(path string) error {
	in, err := os.Open(filepath.Join(c.from, path))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(c.to, path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
