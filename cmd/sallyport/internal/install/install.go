// Package install puts fetched plugins into the plugin folder, and takes them out.
//
//	c, err := install.Prepare(ctx, install.Options{Settings: s, Artifact: a, …})
//	defer c.Close()
//	// show c.Description, or c.Review for an update, and ask
//	err = c.Commit(ctx, grants)
//
// An installation is four writes: the copy of the bytes, their pin in the lock file, the grants and the file in the
// folder. Their order makes one of them the switch, so that a crash in between leaves the previous state serving:
//
//	new plugin   section ── pin ── grants ── file ◀ switch              a pin without a file serves nothing
//	update       section ── copy ── file ── pin ◀ switch ── grants      a file that is not pinned is held, and the old bytes serve
//
// The section of an imported plugin only bounds it, so that it comes first.
//
// Commit can be repeated after a crash.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/source"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// Options configure Prepare. Settings, Logger and Artifact are required.
type Options struct {
	Settings *settings.Settings
	Logger   *slog.Logger
	Artifact *source.Artifact
	Name     string // of the plugin; "" is that of the artifact
	Replace  bool   // also a plugin of another origin
}

// Candidate is a plugin that is ready to be installed.
type Candidate struct {
	Name        string
	File        string               // where it is installed
	Origin      lock.Origin          // where it is from
	Description *plugin.Description  // its entries and wants
	Wants       []hostfuncs.Want     // that can be granted
	Provenance  *sigstore.Provenance // of its build, as its signer states it; nil if none does
	// Review has the difference to the pinned bytes. It is nil if these bytes are pinned, and only their file is missing.
	Review *registry.Review
	// Before is the pin of the name; without a digest if it has none.
	Before lock.Pin
	// Returned means that the bytes were approved before, and replaced since.
	Returned bool
	Note     string // a remark on its source, which is shown before it is installed; "" is none
	// Section has values that bound the plugin. They are written before any of its bytes serve.
	Section settings.Section

	settings *settings.Settings
	artifact *source.Artifact
	staged   string                  // folder of the staged file
	replace  bool                    // also a plugin of another origin
	chosen   bool                    // the operator chose the name
	before   func(step string) error // called before each write, in tests; nil is none
}

// ErrInstalled is returned for bytes that are installed already.
var ErrInstalled = errors.New("these bytes are installed already")

// ClaimedError is returned for a name that belongs to another plugin.
type ClaimedError struct {
	Name string
	By   string // its owner, in words
}

// Error names the owner.
func (e *ClaimedError) Error() string {
	return fmt.Sprintf("the name %s belongs to %s", e.Name, e.By)
}

// NameError is returned for a source whose name cannot be that of a plugin.
type NameError struct{ Err error }

// Error returns the reason.
func (e *NameError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NameError) Unwrap() error { return e.Err }

// AlikeError is returned for a name that can be taken for that of another plugin.
type AlikeError struct{ Name, Other string }

// Error names both.
func (e *AlikeError) Error() string {
	return fmt.Sprintf("the name %s looks like %s, a different plugin", e.Name, e.Other)
}

// Prepare stages a plugin, reads its manifest without any grant, and compares it with the pinned bytes of its name. The
// caller must call Close. Nothing changes before Commit.
func Prepare(ctx context.Context, o Options) (c *Candidate, err error) {
	c = &Candidate{Name: o.Name, Origin: o.Artifact.Origin, Provenance: o.Artifact.Provenance, settings: o.Settings, artifact: o.Artifact,
		replace: o.Replace, chosen: o.Name != ""}
	stem := o.Name
	if stem == "" {
		stem, err = o.Artifact.Name()
	} else {
		err = manifest.CheckName(stem)
	}
	if err != nil {
		return nil, &NameError{err}
	}
	c.File = filepath.Join(o.Settings.Text("dir"), stem+o.Artifact.Ext)
	if c.Name, err = manifest.NameOfFile(c.File); err != nil { // review.prompt.md is review_prompt
		return nil, &NameError{err}
	}
	l, err := host.OpenLock(o.Settings, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	c.Before, _ = l.Pin(c.Name)
	if err := c.claim(l); err != nil {
		return nil, err
	}
	if err := c.stage(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.examine(ctx, o.Logger, l); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// New reports whether the name has no pinned bytes yet.
func (c *Candidate) New() bool { return c.Before.Digest == "" }

// Close removes the staged files.
func (c *Candidate) Close() error {
	if c.staged == "" {
		return nil
	}
	return os.RemoveAll(c.staged)
}

// stage writes the files into a folder of the state folder.
func (c *Candidate) stage() (err error) {
	if err := userfile.MakeFolder(c.settings.Text("state")); err != nil {
		return err
	}
	if c.staged, err = os.MkdirTemp(c.settings.Text("state"), stagePrefix+"*"); err != nil {
		return err
	}
	file := filepath.Join(c.staged, filepath.Base(c.File))
	err = os.WriteFile(file, c.artifact.Content, 0o600)
	if err == nil && c.artifact.Tool != nil {
		err = os.WriteFile(toolfile.Beside(file), c.artifact.Tool, 0o600)
	}
	return err
}

// stagePrefix begins the names of folders of staged files.
const stagePrefix = "incoming-"

// Leftovers returns files and folders that an interrupted installation left, and that are safe to remove: those of the
// last hour may be in use.
func Leftovers(s *settings.Settings, now time.Time) (found []string) {
	for dir, prefix := range map[string]string{s.Text("state"): stagePrefix, s.Text("dir"): tempPrefix} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // doctor examines the folder itself
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && strings.HasPrefix(e.Name(), prefix) && now.Sub(info.ModTime()) > time.Hour && leftBehind(info, prefix) {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(found)
	return found
}

// leftBehind reports whether an object has the type that an installation makes: a folder in the state folder, a file in
// the plugin folder, where a folder of such a name is the operator's own.
func leftBehind(info os.FileInfo, prefix string) bool {
	if prefix == stagePrefix {
		return info.IsDir()
	}
	return info.Mode().IsRegular()
}

// examine loads the staged file alone, without grants, and reviews it.
func (c *Candidate) examine(ctx context.Context, log *slog.Logger, l *lock.Lock) (err error) {
	file := filepath.Join(c.staged, filepath.Base(c.File))
	h, err := host.Open(ctx, host.Options{Settings: c.settings, Logger: logging.Quiet(c.settings, log), Lock: l, Files: []registry.File{{Path: file}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	d, err := plugin.Inspect(ctx, file, host.Dialects(), plugin.NewDescriber(h.Engine, h.Gates))
	if program, ok := errors.AsType[*plugin.ProgramError](err); ok {
		if program.Path = filepath.Base(c.File); filepath.IsAbs(c.Origin.From) {
			program.Path = c.Origin.From
		}
	}
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err) // without the staged file
	}
	d.File, c.Description = c.File, d
	if want := c.required(); want != "" && want != d.Digest {
		return fmt.Errorf("its bytes are %s, and digest: of the settings names %s", d.Digest, want)
	}
	c.Origin.Version = d.Manifest.Version
	c.Returned = !c.New() && c.Before.Digest != d.Digest && l.Copies.Has(d.Digest)
	c.Wants = plugin.Wants(d.Manifest.Wants, d.Manifest)
	if err := h.Registry.Ready(ctx); err != nil {
		return err
	}
	v, err := h.Registry.Review(c.Name)
	switch {
	case errors.Is(err, registry.ErrNothingWaits) && c.inPlace():
		return ErrInstalled
	case errors.Is(err, registry.ErrNothingWaits):
		return nil // an installation that did not come to its end
	case err != nil:
		return err
	}
	c.Review = v.Placed(c.File, c.Origin)
	return nil
}

// required returns the only digest that the configuration allows; "" is any.
func (c *Candidate) required() string {
	for _, p := range c.settings.Plugins {
		if p.Name == c.Name {
			return p.Trust.Digest
		}
	}
	return ""
}

// inPlace reports whether the file in the plugin folder has the bytes of the candidate.
func (c *Candidate) inPlace() bool {
	content, _, err := toolfile.Read(module(c.File))
	return err == nil && fileid.Digest(content) == c.Description.Digest && (!extismfile.Is(c.File) || c.same())
}

// module returns the path of the module of an installed file: that of an Extism manifest is in it.
func module(file string) string {
	if extismfile.Is(file) {
		return extismfile.InlineOf(file)
	}
	return file
}

// claim returns an error if the name belongs to another plugin, or looks like that of one.
func (c *Candidate) claim(l *lock.Lock) error {
	s := c.settings
	known := l.Names()
	for _, p := range s.Plugins {
		if known = append(known, p.Name); p.Name != c.Name {
			continue
		}
		if p.Source != "" && p.Source != c.File {
			return &ClaimedError{c.Name, "the file " + p.Source + " by source: in the configuration"}
		}
	}
	files, err := claimants(s.Text("dir"))
	if err != nil {
		return err
	}
	for file, name := range files {
		if known = append(known, name); strings.EqualFold(name, c.Name) && file != filepath.Base(c.File) {
			return &ClaimedError{c.Name, "the file " + filepath.Join(s.Text("dir"), file)}
		}
	}
	slices.Sort(known)
	if other := source.Alike(c.Name, known); other != "" && !c.chosen {
		return &AlikeError{c.Name, other}
	}
	return c.owned(files)
}

// owned returns an error if the plugin of that name is of another origin.
func (c *Candidate) owned(files map[string]string) error {
	base := filepath.Base(c.File)
	_, there := files[base]
	pin := c.Before
	switch {
	case pin.Digest != "" && pin.Folder != "" && pin.Folder != filepath.Dir(c.File) && exists(filepath.Join(pin.Folder, pin.File)):
		return &ClaimedError{c.Name, "the plugin " + filepath.Join(pin.Folder, pin.File)}
	case c.replace, !there && pin.Digest == "":
		return nil
	case pin.Origin != nil && pin.Origin.From != c.Origin.From:
		return &ClaimedError{c.Name, "the plugin from " + pin.Origin.From}
	case pin.Origin == nil && there && !c.same():
		return &ClaimedError{c.Name, "the file " + c.File + ", which was put there by hand"}
	}
	return nil
}

// same reports whether the file in the plugin folder is the one that is added.
func (c *Candidate) same() bool {
	content, _, err := fileid.Read(c.File)
	return err == nil && fileid.Digest(content) == fileid.Digest(c.artifact.Content)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Stem returns the file name of a plugin without its extension, and the extension.
func Stem(file string) (stem, ext string) {
	for _, ext := range []string{".prompt.md", ".skill", ".wasm", ".json"} {
		if stem, ok := strings.CutSuffix(file, ext); ok {
			return stem, ext
		}
	}
	return file, ""
}
