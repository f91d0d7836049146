package landing

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/filelock"
)

const (
	recordEnd = ".json"
	// committed is the line that makes a record one to be finished.
	committed = "committed\n"
	// maxRecord bounds a record that is read: ten thousand changes with long paths.
	maxRecord = 64 << 20
)

// record is a landing on the disk. Its process holds a lock on the file; who can take the lock finds the
// process gone.
type record struct {
	path string
	f    *os.File
}

// begin writes the plan.
func begin(dir, id string, ops []*op) (*record, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &record{path: filepath.Join(dir, id+recordEnd)}
	plan, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	// Nobody takes a record whose name does not end in recordEnd, so the lock is there before the name.
	early := r.path + ".new"
	if r.f, err = os.OpenFile(early, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if _, err := filelock.Try(r.f); err != nil {
		return nil, errors.Join(err, r.f.Close(), os.Remove(early))
	}
	if _, err := r.f.Write(append(plan, '\n')); err != nil {
		return nil, errors.Join(err, r.f.Close(), os.Remove(early))
	}
	if err := os.Rename(early, r.path); err != nil {
		return nil, errors.Join(err, r.f.Close(), os.Remove(early))
	}
	return r, nil
}

// commit decides that the landing happens.
func (r *record) commit() error {
	if _, err := io.WriteString(r.f, committed); err != nil {
		return err
	}
	return r.f.Sync()
}

// end removes the record.
func (r *record) end() error {
	return errors.Join(os.Remove(r.path), r.f.Close())
}

// leave keeps the record for Recover.
func (r *record) leave() { _ = r.f.Close() }

// Recover finishes or undoes the landings of processes that are gone. It is for the start of a process; those
// of processes that live are left alone.
func Recover(dir string, log *slog.Logger) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), recordEnd) {
			continue
		}
		if err := recoverOne(filepath.Join(dir, e.Name()), log); err != nil {
			all = errors.Join(all, fmt.Errorf("landing record %s: %w", e.Name(), err))
		}
	}
	return all
}

func recoverOne(path string, log *slog.Logger) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // its process ended it just now
	}
	if err != nil {
		return err
	}
	r := &record{path: path, f: f}
	if free, err := filelock.Try(f); !free || err != nil {
		return errors.Join(err, f.Close())
	}
	ops, done, err := read(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer closeFolders(ops)
	openFolders(ops)
	ops = reachable(ops)
	if !done {
		drop(ops)
		log.Warn("a call's writes were undone: the process ended before they were complete", "files", len(ops))
		return r.end()
	}
	if err := apply(ops, func(string) {}); err != nil {
		return errors.Join(err, f.Close())
	}
	forget(ops)
	log.Warn("a call's writes were finished: the process ended while they landed", "files", len(ops))
	return r.end()
}

// read reads a plan and whether it was committed. A line that is not whole was not written in time.
func read(f *os.File) (ops []*op, done bool, err error) {
	raw, err := io.ReadAll(io.LimitReader(bufio.NewReader(f), maxRecord))
	if err != nil {
		return nil, false, err
	}
	plan, rest, found := bytes.Cut(raw, []byte("\n"))
	if !found {
		return nil, false, nil
	}
	if err := json.Unmarshal(plan, &ops); err != nil {
		return nil, false, err
	}
	return ops, string(rest) == committed, nil
}

// openFolders opens the folders of a plan, if they are still where they were.
func openFolders(ops []*op) {
	open := map[string]*os.Root{}
	for _, o := range ops {
		root, known := open[o.Folder]
		if !known {
			if real, err := filepath.EvalSymlinks(o.Folder); err == nil && real == o.Folder {
				root, _ = os.OpenRoot(o.Folder)
			}
			open[o.Folder] = root
		}
		o.root = root
	}
}

func reachable(ops []*op) []*op {
	var kept []*op
	for _, o := range ops {
		local := filepath.IsLocal(o.Name) && strings.HasPrefix(o.Temp+o.Backup, Prefix) || o.Touch != nil
		if o.root != nil && local {
			kept = append(kept, o)
		}
	}
	return kept
}

func closeFolders(ops []*op) {
	for _, o := range ops {
		if o.root != nil {
			_ = o.root.Close() // more than once for one folder does no harm
		}
	}
}
