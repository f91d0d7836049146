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
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// step is one write of an installation.
type step struct {
	name string
	do   func(context.Context) error
}

// Commit installs the candidate, with grant lines for it. See the package comment for the order of its writes.
func (c *Candidate) Commit(ctx context.Context, grants []string) error {
	if err := c.unchanged(); err != nil {
		return err
	}
	file := c.settings.Watched()
	section := func() (*settings.Addition, error) { return settings.AddSection(file, c.Name, c.Section) }
	lines := func() (*settings.Addition, error) { return settings.AddAll(file, c.Name, grants) }
	if _, err := section(); err != nil && !c.Section.Empty() {
		return err
	}
	if _, err := lines(); err != nil && len(grants) > 0 {
		return err
	}
	bound := step{"section", func(context.Context) error {
		if c.Section.Empty() {
			return nil
		}
		return written(section)
	}}
	keep := step{"copy", func(context.Context) error { return c.keepOld() }}
	pin := step{"pin", c.pin}
	allow := step{"grants", func(context.Context) error {
		if len(grants) == 0 {
			return nil
		}
		return written(lines)
	}}
	place := step{"file", func(context.Context) error { return c.place() }}
	order := []step{bound, keep, place, pin, allow}
	if c.New() || c.Review == nil {
		order = []step{bound, pin, allow, place}
	}
	for _, s := range order {
		if c.before != nil {
			if err := c.before(s.name); err != nil {
				return err
			}
		}
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxTries limits the attempts at a file that others change at the same time: as many as write it at once.
const maxTries = 32

// written writes an addition to the configuration. Where the file changed since, the addition is made again for what it
// says now.
func written(add func() (*settings.Addition, error)) error {
	for range maxTries {
		addition, err := add()
		if err != nil {
			return err
		}
		if err = addition.Write(); !errors.Is(err, userfile.ErrMeanwhile) {
			return err
		}
	}
	return userfile.ErrMeanwhile
}

// unchanged returns an error if the name was taken, or other bytes of it approved, since Prepare: the operator answered
// about a different state.
func (c *Candidate) unchanged() error {
	l, err := host.OpenLock(c.settings, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer l.Close()
	if now, _ := l.Pin(c.Name); now.Digest != c.Before.Digest {
		return fmt.Errorf("other bytes of %s were approved in the meantime: nothing was changed, and the same command asks about them", c.Name)
	}
	if c.settings, err = c.settings.Reload(); err != nil {
		return err
	}
	if want := c.required(); want != "" && want != c.Description.Digest {
		return fmt.Errorf("its bytes are %s, and digest: of the settings names %s", c.Description.Digest, want)
	}
	return c.claim(l)
}

// pin stores the bytes and approves them.
func (c *Candidate) pin(ctx context.Context) error {
	if c.Review == nil {
		return nil
	}
	return host.Decide(ctx, c.settings, c.Review, true)
}

// keepOld stores the pinned bytes, from their file, unless they are stored: they serve until the new ones are pinned.
func (c *Candidate) keepOld() error {
	l, err := host.OpenLock(c.settings, lock.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	if l.Copies.HasAll(c.Before) {
		return nil
	}
	old, _, err := toolfile.Read(module(c.File))
	if err != nil || fileid.Digest(old) != c.Before.Digest {
		return nil // they are lost already
	}
	return l.Copies.Put(old, c.Review.Before)
}

// place puts the files into the plugin folder, the module last.
func (c *Candidate) place() error {
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	if beside := toolfile.Beside(c.File); beside != "" {
		var err error
		if c.artifact.Tool != nil {
			err = write(beside, c.artifact.Tool)
		} else if err = os.Remove(beside); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return write(c.File, c.artifact.Content)
}

// write replaces a file atomically and durably. The name of the temporary file begins with a dot, so that no host loads
// it.
func write(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // some systems cannot
		_ = dir.Close()
	}
	return nil
}

// tempPrefix begins the names of files that are being written in a plugin folder.
const tempPrefix = ".sallyport-"

// claimants returns the plugin files of a folder with their plugin names; a missing folder has none.
func claimants(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	files := map[string]string{}
	for _, e := range entries {
		file := strings.ToLower(e.Name())
		if strings.HasPrefix(file, ".") || !document.Is(file) && !script.Is(file) && filepath.Ext(file) != ".wasm" && filepath.Ext(file) != ".json" {
			continue
		}
		if name, err := manifest.NameOfFile(e.Name()); err == nil {
			files[e.Name()] = name
		}
	}
	return files, err
}
