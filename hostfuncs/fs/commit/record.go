package commit

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

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

const (
	recordEnd = ".json"
	// maxRecord is the maximum size of a record, in bytes: ten thousand changes with long paths.
	maxRecord = 64 << 20
)

// state is the progress of a landing, as stated by the last complete line of its record. The lines committed and joint
// are followed by the marks of the temporaries.
type state string

const (
	planned   state = ""          // its temporaries may exist, but no change is applied
	committed state = "committed" // to be finished
	joint     state = "joint"     // to be finished if its keys were kept, else undone
	undoing   state = "undoing"   // to be undone
	ended     state = "ended"     // nothing to do
)

// record is a landing on disk. Its process holds a lock on the file: if the lock is free the process is gone.
type record struct {
	path string
	f    *os.File
}

// begin writes the plan and flushes it to disk before any temporary is created.
func begin(dir, id string, ops []*op) (*record, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	plan, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	r := &record{path: filepath.Join(dir, id+recordEnd)}
	if r.f, err = os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	switch free, err := filelock.Try(r.f); {
	case err != nil:
		return nil, errors.Join(err, r.end())
	case !free:
		return nil, errors.Join(errTaken, r.f.Close())
	case !r.there():
		return nil, errors.Join(errTaken, r.f.Close())
	}
	if _, err := r.f.Write(append(plan, '\n')); err != nil {
		return nil, errors.Join(err, r.end())
	}
	if err := errors.Join(r.f.Sync(), syncDir(dir)); err != nil {
		return nil, errors.Join(err, r.end())
	}
	return r, nil
}

// errTaken means that another process recovered the record between its creation and its lock, and so removed it.
var errTaken = errors.New("another process has removed the record of the landing")

// there reports whether the path of the record still leads to its file.
func (r *record) there() bool {
	named, err := os.Lstat(r.path)
	if err != nil {
		return false
	}
	ours, err := r.f.Stat()
	return err == nil && os.SameFile(named, ours)
}

// note appends the state of the landing, and flushes it to disk.
func (r *record) note(s state, ops []*op) error {
	line := []byte(s)
	if s == committed || s == joint {
		marks := make([]*mark, len(ops))
		for i, o := range ops {
			marks[i] = o.made
		}
		text, err := json.Marshal(marks)
		if err != nil {
			return err
		}
		line = append(append(line, ' '), text...)
	}
	if _, err := r.f.Write(append(line, '\n')); err != nil {
		return err
	}
	return r.f.Sync()
}

// end removes the record. Where an open file can be removed its lock is held until then. Elsewhere another process may
// find the record, with the state ended.
func (r *record) end() error {
	_, err := io.WriteString(r.f, string(ended)+"\n")
	if !removesOpen {
		err = errors.Join(err, r.f.Close())
	}
	if gone := os.Remove(r.path); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if removesOpen {
		err = errors.Join(err, r.f.Close())
	}
	return err
}

// leave closes the record and keeps it for Recover.
func (r *record) leave() { _ = r.f.Close() }

// Landed reports whether the keys of a landing were kept.
type Landed func(id string) (bool, error)

// Recover finishes or undoes the landings of processes that are gone. It is called at the start of a process. Landings
// of live processes are skipped. With a nil landed, a record that depends on keys is an error.
func Recover(dir string, landed Landed, log *slog.Logger) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), recordEnd)
		if !e.Type().IsRegular() || !is {
			continue
		}
		if err := recoverOne(filepath.Join(dir, e.Name()), id, landed, log); err != nil {
			all = errors.Join(all, fmt.Errorf("landing record %s: %w", filepath.Join(dir, e.Name()), err))
		}
	}
	return all
}

func recoverOne(path, id string, landed Landed, log *slog.Logger) error {
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
	ops, s, err := read(f)
	if err == nil {
		defer closeFolders(ops)
		err = r.resolve(ops, s, id, landed, log)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return r.end()
}

// resolve finishes or undoes a landing.
func (r *record) resolve(ops []*op, s state, id string, landed Landed, log *slog.Logger) error {
	openFolders(ops)
	if s == joint {
		s = undoing
		if landed == nil {
			return errors.New("nothing is known of the keys that belong to it")
		}
		if kept, err := landed(id); err != nil {
			return err
		} else if kept {
			s = committed
		}
	}
	said := map[string]bool{}
	say := func(path, aside string) {
		said[aside] = true
		log.Warn("a file was changed after an interrupted commit: it stays, and the uncommitted content is kept beside it", "file", path, "kept", aside)
	}
	switch s {
	case ended:
	case planned:
		drop(reachable(ops))
		log.Warn("a call's writes were undone: the process ended before they were complete", "files", len(ops))
	case undoing:
		if err := errors.Join(undo(reachable(ops), say), allThere(ops, "undone")); err != nil {
			return err
		}
		log.Warn("a call's writes were undone: the process ended while they landed", "files", len(ops))
	default:
		if err := finish(ops, say); err != nil {
			return err
		}
		log.Warn("a call's writes were finished: the process ended while they landed", "files", len(ops))
	}
	if s != ended {
		leftovers(ops, id, said, log)
	}
	return nil
}

// allThere returns an error for a folder that cannot be reached: the record stays, and the next start tries again.
func allThere(ops []*op, resolved string) error {
	for _, o := range ops {
		if o.root == nil {
			return fmt.Errorf("the folder %s is not there: the landing is %s when it is, or given up when its record is removed", o.Folder, resolved)
		}
	}
	return nil
}

// leftovers logs the temporaries and backups that could not be removed, except those that were said to stay. A folder
// that was replaced by a link is not followed.
func leftovers(ops []*op, id string, said map[string]bool, log *slog.Logger) {
	away := map[string]bool{}
	for _, o := range ops {
		if o.root == nil && o.Touch == nil && !away[o.Folder] {
			away[o.Folder] = true
			log.Warn("an interrupted commit may have left files in a folder that is gone or was replaced by a link: they are not removed",
				"files", filepath.Join(o.Folder, Prefix+id+"-*"))
		}
		for _, name := range []string{o.Temp, o.Backup} {
			if o.root != nil && o.has(name) && !said[name] {
				log.Warn("a file of an interrupted commit cannot be removed", "file", filepath.Join(o.Folder, name))
			}
		}
	}
}

// finish applies all operations. If one of their folders cannot be reached it returns an error, and the next start
// tries again: a file moved from a reachable folder into an unreachable one would be lost.
func finish(ops []*op, say func(path, aside string)) error {
	if err := allThere(ops, "finished"); err != nil {
		return err
	}
	ops = reachable(ops)
	for _, o := range ops {
		if err := o.late(say); err != nil {
			return &PathError{filepath.Join(o.Folder, o.Name), err}
		}
	}
	if err := syncFolders(ops); err != nil {
		return err
	}
	forget(ops)
	return nil
}

// read reads the plan and the state of a record. An incomplete line is ignored.
func read(f *os.File) (ops []*op, s state, err error) {
	raw, err := io.ReadAll(io.LimitReader(bufio.NewReader(f), maxRecord))
	if err != nil {
		return nil, ended, err
	}
	plan, rest, found := bytes.Cut(raw, []byte("\n"))
	if !found || string(plan) == string(ended) {
		return nil, ended, nil
	}
	if err := json.Unmarshal(plan, &ops); err != nil {
		return nil, ended, err
	}
	for line, rest, found := bytes.Cut(rest, []byte("\n")); found; line, rest, found = bytes.Cut(rest, []byte("\n")) {
		name, marks, _ := bytes.Cut(line, []byte(" "))
		if s = state(name); marks == nil {
			continue
		}
		var made []*mark
		if err := json.Unmarshal(marks, &made); err != nil || len(made) != len(ops) {
			return nil, s, errors.Join(errors.New("its marks cannot be read"), err)
		}
		for i, m := range made {
			ops[i].made = m
		}
	}
	return ops, s, nil
}

// openFolders opens the folders of a plan, if they are still at their paths.
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
			_ = o.root.Close() // repeated Close of one folder is harmless
		}
	}
}
