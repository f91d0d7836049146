package commit

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// lockFiles is the number of lock files. A path uses one by its hash.
const lockFiles = 64

// lockPause is the time between two attempts at a lock.
const lockPause = 2 * time.Millisecond

// lock takes the locks of all paths, always in the same order, so that landings cannot deadlock.
func lock(ctx context.Context, dir string, changes []Change) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var held []*os.File
	unlock = func() {
		for _, f := range held {
			_ = f.Close() // releases the lock as well
		}
	}
	for _, n := range slots(changes) {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%02d", n)), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			held = append(held, f)
			err = wait(ctx, f)
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}

// slots returns the sorted lock files of the paths.
func slots(changes []Change) []uint32 {
	var all []uint32
	add := func(path string) {
		h := fnv.New32a()
		_, _ = io.WriteString(h, path)
		all = append(all, h.Sum32()%lockFiles)
	}
	for i := range changes {
		add(changes[i].Path)
		if e := changes[i].Put; e != nil && e.From != nil {
			add(e.From.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// LockFile waits for the lock on a file and takes it. The file is created if it does not exist. The lock is held by
// one process, until it calls unlock or exits.
func LockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil // releases the lock as well
}

func wait(ctx context.Context, f *os.File) error {
	for {
		free, err := filelock.Try(f)
		if free {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}
