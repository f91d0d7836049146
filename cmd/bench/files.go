package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// benchFiles compares the file access of a call with package os: reading a host file, and writing one with commit.
func benchFiles(ctx context.Context, o options) ([]row, error) {
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	var rows []row
	for _, size := range []int{64 << 10, 1 << 20, 16 << 20} {
		more, err := benchFile(ctx, o, dir, size)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// everything grants all access.
type everything struct{}

func (everything) Allow(jail.Op, string) error { return nil }
func (everything) Visible(string, bool) bool   { return true }

func benchFile(ctx context.Context, o options, dir string, size int) ([]row, error) {
	path := filepath.Join(dir, fmt.Sprint(size))
	content := make([]byte, size)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, err
	}
	lower := jail.New([]jail.Mount{{Host: dir, Guest: "/w"}}, everything{})
	held := overlay.New(lower, overlay.Options{})
	defer lower.Close()
	defer held.Close()
	plain, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.Close() }()
	opened, e := held.Open("/w/"+filepath.Base(path), wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer opened.Close()
	name, buf, calls, kib := filepath.Base(path), make([]byte, 64<<10), max(1, o.calls*(64<<10)/size), size>>10
	return besideOS(o.rounds, []pair{
		{fmt.Sprintf("overlay_read_over_os_%dKiB", kib), "of a file that is open", calls,
			func() error { return readAll(readOpened(opened), buf) }, func() error { return readAll(readPlain(plain), buf) }},
		{fmt.Sprintf("overlay_open_and_read_over_os_%dKiB", kib), "with opening, which looks before and after, and closing", calls,
			func() error { return throughOverlay(held, name, buf) }, func() error { return throughOS(path, buf) }},
		{fmt.Sprintf("overlay_write_over_os_%dKiB", kib), "landed, against os with fsync and rename", max(1, calls/100),
			func() error { return writeOverlay(ctx, dir, name, content) }, func() error { return writePlain(path, content) }},
	})
}

// pair is one operation, in this host and in package os.
type pair struct {
	name, note   string
	calls        int // per round
	ours, theirs func() error
}

// besideOS measures pairs in turn, and returns the median of the rounds' ratios.
func besideOS(rounds int, pairs []pair) (rows []row, err error) {
	for _, p := range pairs {
		var all []float64
		var ours, theirs float64
		for range rounds {
			if theirs, err = perCall(p.calls, p.theirs); err != nil {
				return nil, err
			}
			if ours, err = perCall(p.calls, p.ours); err != nil {
				return nil, err
			}
			all = append(all, ours/theirs)
		}
		rows = append(rows, row{Name: p.name, Value: median(all), Unit: "ratio", note: fmt.Sprintf("%s: %.1f µs against %.1f µs", p.note, ours, theirs)})
	}
	return rows, nil
}

// perCall returns the microseconds per call of f.
func perCall(n int, f func() error) (float64, error) {
	begin := time.Now()
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / 1000 / float64(n), nil
}

// readAll reads a file from beginning to end, in pieces.
func readAll(read func(p []byte, off int64) (int, error), buf []byte) error {
	for off := int64(0); ; {
		n, err := read(buf, off)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		off += int64(n)
	}
}

func readPlain(f *os.File) func([]byte, int64) (int, error) {
	return func(p []byte, off int64) (int, error) {
		n, err := f.ReadAt(p, off)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	}
}

func readOpened(f wasi.File) func([]byte, int64) (int, error) {
	return func(p []byte, off int64) (int, error) {
		n, e := f.ReadAt(p, off)
		if e != wasi.ESUCCESS {
			return n, e
		}
		return n, nil
	}
}

func throughOS(path string, buf []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(readAll(readPlain(f), buf), f.Close())
}

func throughOverlay(held *overlay.Overlay, name string, buf []byte) error {
	f, e := held.Open("/w/"+name, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return e
	}
	defer f.Close()
	return readAll(readOpened(f), buf)
}

// writePlain replaces a file atomically.
func writePlain(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "plain-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), path))
}

func writeOverlay(ctx context.Context, dir, name string, content []byte) error {
	lower := jail.New([]jail.Mount{{Host: dir, Guest: "/w"}}, everything{})
	held := overlay.New(lower, overlay.Options{Scratch: dir})
	defer lower.Close()
	defer held.Close()
	f, e := held.Open("/w/"+name, wasi.OpenOptions{Write: true, Create: true, Truncate: true})
	if e != wasi.ESUCCESS {
		return e
	}
	if _, e := f.WriteAt(content, 0); e != wasi.ESUCCESS {
		return e
	}
	f.Close()
	changes, release, err := held.Changes()
	if err != nil {
		return err
	}
	defer release()
	return commit.Land(ctx, filepath.Join(dir, ".landing"), changes)
}
