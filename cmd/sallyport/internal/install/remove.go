package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// Removal is a plugin that is ready to be removed.
type Removal struct {
	Name   string
	Files  []string // of the plugin folder
	Pin    lock.Pin // without a digest if it has none
	Grants int      // lines of the configuration, which stay
	Last   bool     // the folder has no other plugin

	settings *settings.Settings
}

// ErrAbsent is returned for a name without a file and without a pin.
var ErrAbsent = errors.New("there is no such plugin")

// ElsewhereError is returned for a plugin whose file is not in the folder, but in the one that its pin names: hosts serve it
// from there.
type ElsewhereError struct{ Name, Dir, Folder string }

// Error names both folders.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("there is no plugin %q in %s: its file is in %s", e.Name, e.Dir, e.Folder)
}

// PrepareRemoval finds the files and the pin of a plugin. Nothing changes before Remove.
func PrepareRemoval(s *settings.Settings, name string) (*Removal, error) {
	l, err := host.OpenLock(s, lock.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	r := &Removal{Name: name, settings: s}
	r.Pin, _ = l.Pin(name)
	files, err := claimants(s.Text("dir"))
	if err != nil {
		return nil, err
	}
	for file, owner := range files {
		if owner == name {
			r.Files = append(r.Files, filepath.Join(s.Text("dir"), file))
		}
	}
	switch {
	case len(r.Files) > 1:
		return nil, fmt.Errorf("more than one file is the plugin %s: %s; remove one by hand", name, strings.Join(r.Files, ", "))
	case len(r.Files) == 0 && r.Pin.Folder != "" && exists(filepath.Join(r.Pin.Folder, r.Pin.File)):
		return nil, &ElsewhereError{Name: name, Dir: s.Text("dir"), Folder: r.Pin.Folder}
	case len(r.Files) == 0 && r.Pin.Digest == "":
		return nil, fmt.Errorf("%w %q in %s", ErrAbsent, name, s.Text("dir"))
	}
	r.Last = len(r.Files) == len(files)
	module := filepath.Join(s.Text("dir"), r.Pin.File) // of a removal that ended behind it
	if len(r.Files) == 1 {
		module = r.Files[0]
	}
	if beside := toolfile.Beside(module); beside != "" && exists(beside) {
		r.Files = append(r.Files, beside)
	}
	for _, p := range s.Plugins {
		if p.Name == name {
			r.Grants = len(p.Grants.Lines())
		}
	}
	return r, nil
}

// Remove removes the files, the module first: no host serves it from then on. With purge it also removes the pin, the
// answers, the questions, the stored keys and the recorded calls of the plugin. Grants of the configuration stay, and a
// later plugin of that name has them only with the pinned bytes, or after a purge with an approval of its own.
func (r *Removal) Remove(ctx context.Context, purge bool) error {
	for _, file := range r.Files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !purge {
		return nil
	}
	kept := host.OpenStore(r.settings)
	err := errors.Join(kept.Forget(ctx, r.Name, ""), kept.Prune(ctx, r.Name, ""), kept.Purge(ctx, r.Name), kept.Close(),
		host.Recordings(r.settings).Remove(r.Name))
	if err != nil {
		return err
	}
	l, err := host.OpenLock(r.settings, lock.Options{})
	if err != nil {
		return err
	}
	return errors.Join(l.Forget(ctx, r.Name), l.Close())
}
