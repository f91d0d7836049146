package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	fdiff "github.com/go-git/go-git/v5/plumbing/format/diff"
	linediff "github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// maxCompared bounds a file that is compared: both versions and their lines are in memory.
	maxCompared = 2 << 20
	// maxDiffTime bounds the comparison of one file. After that, its remaining lines count as replaced.
	maxDiffTime = 2 * time.Second
)

// blob is one version of a file.
type blob struct {
	path string
	mode filemode.FileMode
	hash plumbing.Hash // zero if unknown
	read func() ([]byte, error)
}

// change is a file in two versions. from is nil for a new file, and to for a removed one.
type change struct{ from, to *blob }

func (c change) path() string {
	if c.to != nil {
		return c.to.path
	}
	if c.from != nil {
		return c.from.path
	}
	return ""
}

// same reports whether nothing changed.
func (c change) same() bool {
	if c.from == nil || c.to == nil {
		return c.from == c.to
	}
	return c.from.hash == c.to.hash && c.from.path == c.to.path && c.from.mode == c.to.mode && !c.to.hash.IsZero()
}

// split returns the change, or two of them where a file, a link or a submodule replaced an entry of a different kind,
// as git shows it.
func (c change) split() []change {
	if c.from == nil || c.to == nil || kind(c.from.mode) == kind(c.to.mode) {
		return []change{c}
	}
	return []change{{c.from, nil}, {nil, c.to}}
}

// kind returns a mode, with one value for all regular files.
func kind(m filemode.FileMode) filemode.FileMode {
	if m == filemode.Executable || m == filemode.Deprecated {
		return filemode.Regular
	}
	return m
}

// writeChanges writes a patch, or with stat a line per file and a summary.
func writeChanges(out *output, changes []change, stat bool, context int) error {
	added, deleted := 0, 0
	for _, c := range changes {
		p, err := c.patch()
		if err != nil {
			return fmt.Errorf("%s: %w", c.path(), err)
		}
		a, d := p.count()
		added, deleted = added+a, deleted+d
		if stat {
			out.printf(" %s\n", p.summary())
			continue
		}
		if err := p.write(out, context); err != nil {
			return err
		}
	}
	if stat {
		out.printf(" %d files changed, %d lines added, %d deleted\n", len(changes), added, deleted)
	}
	return nil
}

// filePatch is the difference of one file, for go-git's encoder.
type filePatch struct {
	change
	binary bool
	note   string
	chunks []fdiff.Chunk
}

func (c change) patch() (*filePatch, error) {
	p := &filePatch{change: c}
	from, err := c.from.content()
	to, err2 := c.to.content()
	if err = errors.Join(err, err2); errors.Is(err, errLarge) {
		p.binary, p.note = true, " ("+errLarge.Error()+")"
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if isBinary(from) || isBinary(to) {
		p.binary = true
		return p, nil
	}
	for _, d := range linediff.DoWithTimeout(string(from), string(to), maxDiffTime) {
		p.chunks = append(p.chunks, chunk{d.Text, operation(d.Type)})
	}
	return p, nil
}

// content returns the content of a version. It is empty for a missing version and for a submodule.
func (b *blob) content() ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if b.mode == filemode.Submodule {
		return []byte("Subproject commit " + b.hash.String() + "\n"), nil
	}
	return b.read()
}

// isBinary reports whether data has a NUL near its beginning, as in git.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

func operation(t diffmatchpatch.Operation) fdiff.Operation {
	switch t {
	case diffmatchpatch.DiffInsert:
		return fdiff.Add
	case diffmatchpatch.DiffDelete:
		return fdiff.Delete
	}
	return fdiff.Equal
}

type chunk struct {
	text string
	op   fdiff.Operation
}

// Content returns the text of the chunk.
func (c chunk) Content() string { return c.text }

// Type returns whether the text was added, deleted or kept.
func (c chunk) Type() fdiff.Operation { return c.op }

// Path, Mode and Hash describe a version to the encoder.
func (b *blob) Path() string            { return b.path }
func (b *blob) Mode() filemode.FileMode { return b.mode }
func (b *blob) Hash() plumbing.Hash     { return b.hash }

// IsBinary reports whether there are no lines to show.
func (p *filePatch) IsBinary() bool { return p.binary }

// Chunks returns the pieces of the difference, in order.
func (p *filePatch) Chunks() []fdiff.Chunk { return p.chunks }

// Files returns the two versions. A missing one must be a nil interface.
func (p *filePatch) Files() (from, to fdiff.File) {
	if p.from != nil {
		from = p.from
	}
	if p.to != nil {
		to = p.to
	}
	return from, to
}

// FilePatches and Message implement a patch of one file.
func (p *filePatch) FilePatches() []fdiff.FilePatch { return []fdiff.FilePatch{p} }
func (p *filePatch) Message() string                { return "" }

func (p *filePatch) write(out *output, context int) error {
	if p.note != "" {
		out.printf("%s%s\n", p.summary(), p.note)
		return nil
	}
	return fdiff.NewUnifiedEncoder(out, context).Encode(p)
}

func (p *filePatch) count() (added, deleted int) {
	for _, c := range p.chunks {
		n := strings.Count(c.Content(), "\n")
		if !strings.HasSuffix(c.Content(), "\n") {
			n++
		}
		switch c.Type() {
		case fdiff.Add:
			added += n
		case fdiff.Delete:
			deleted += n
		}
	}
	return added, deleted
}

// summary returns one line about the file.
func (p *filePatch) summary() string {
	name := p.path()
	switch {
	case p.from == nil:
		name += " (new)"
	case p.to == nil:
		name += " (deleted)"
	case p.from.path != p.to.path:
		name = p.from.path + " => " + p.to.path
	}
	if p.binary {
		return name + " | binary"
	}
	added, deleted := p.count()
	return fmt.Sprintf("%s | +%d -%d", name, added, deleted)
}
