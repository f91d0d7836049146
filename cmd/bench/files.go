package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
	"github.com/sallyport-mcp/sallyport/hostfuncs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/tree"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// benchFiles measures the files of a call beside plain os: reading a file that the host has, and writing one
// so that it lands.
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

// everything is granted.
type everything struct{}

func (everything) Allow(tree.Op, string) error { return nil }
func (everything) Visible(string, bool) bool   { return true }

func benchFile(ctx context.Context, o options, dir string, size int) ([]row, error) {
	path := filepath.Join(dir, fmt.Sprint(size))
	content := make([]byte, size)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	lower := tree.New([]tree.Mount{{Host: dir, Guest: "/w"}}, everything{})
	held := overlay.New(lower, overlay.Options{})
	defer lower.Close()
	defer held.Close()
	var reads, writes []float64
	var ours, theirs float64
	calls := max(1, o.calls*(64<<10)/size)
	for range o.rounds {
		a, err := perCall(calls, func() error { return readPlain(path, buf) })
		if err != nil {
			return nil, err
		}
		b, err := perCall(calls, func() error { return readOverlay(held, filepath.Base(path), buf) })
		if err != nil {
			return nil, err
		}
		reads, theirs, ours = append(reads, b/a), a, b
		a, err = perCall(max(1, calls/100), func() error { return writePlain(path, content) })
		if err != nil {
			return nil, err
		}
		b, err = perCall(max(1, calls/100), func() error { return writeOverlay(ctx, dir, filepath.Base(path), content) })
		if err != nil {
			return nil, err
		}
		writes = append(writes, b/a)
	}
	kib := size >> 10
	return []row{
		{Name: fmt.Sprintf("overlay_read_over_os_%dKiB", kib), Value: median(reads), Unit: "ratio",
			note: fmt.Sprintf("%.0f µs against %.0f µs", ours, theirs)},
		{Name: fmt.Sprintf("overlay_write_over_os_%dKiB", kib), Value: median(writes), Unit: "ratio", note: "landed, against os with fsync and rename"},
	}, nil
}

// perCall is how many microseconds one call of f takes.
func perCall(n int, f func() error) (float64, error) {
	begin := time.Now()
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / 1000 / float64(n), nil
}

func readPlain(path string, buf []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for off := int64(0); ; {
		n, _ := f.ReadAt(buf, off)
		if n == 0 {
			return nil
		}
		off += int64(n)
	}
}

func readOverlay(held *overlay.Overlay, name string, buf []byte) error {
	f, e := held.Open("/w/"+name, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return e
	}
	defer f.Close()
	for off := int64(0); ; {
		n, e := f.ReadAt(buf, off)
		if e != wasi.ESUCCESS {
			return e
		}
		if n == 0 {
			return nil
		}
		off += int64(n)
	}
}

// writePlain replaces a file as a careful program does.
func writePlain(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "plain-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), path))
}

func writeOverlay(ctx context.Context, dir, name string, content []byte) error {
	lower := tree.New([]tree.Mount{{Host: dir, Guest: "/w"}}, everything{})
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
	return landing.Land(ctx, filepath.Join(dir, ".landing"), changes)
}
