package landing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Land makes the changes last. dir is the folder of records and locks, which all processes of a state folder
// share. An error means that nothing landed, but for one with ErrHalf in its chain. ctx ends the waiting for
// other landings, nothing else.
func Land(ctx context.Context, dir string, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	l := &landing{id: strings.ToLower(rand.Text()[:12]), dir: dir, changes: slices.Clone(changes), same: map[*Entry]made{}, reach: hook(ctx)}
	slices.SortFunc(l.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	unlock, err := lock(ctx, filepath.Join(dir, "locks"), l.changes)
	if err != nil {
		return err
	}
	defer unlock()
	if err := check(l.changes); err != nil {
		return err
	}
	return l.run()
}

// ErrHalf says that a landing stopped in the middle and could not be undone. What is left of it is in the
// record, which Recover finishes.
var ErrHalf = errors.New("the changes landed in part, the next start finishes them")

// landing is one set on its way.
type landing struct {
	id      string
	dir     string
	changes []Change
	ops     []*op
	record  *record
	same    map[*Entry]made // files with several names
	reach   func(string)    // hears how far it is
}

// hookKey is how tests hear how far a landing is.
type hookKey struct{}

func hook(ctx context.Context) func(string) {
	if f, ok := ctx.Value(hookKey{}).(func(string)); ok {
		return f
	}
	return func(string) {}
}

// made is where an entry has been made.
type made struct {
	root *os.Root
	name string
}

func (l *landing) run() (err error) {
	if err := l.plan(); err != nil {
		return err
	}
	if l.record, err = begin(l.dir, l.id, l.ops); err != nil {
		return err
	}
	err = l.prepare()
	if err == nil {
		err = l.record.commit()
	}
	if err != nil {
		drop(l.ops)
		return errors.Join(err, l.record.end())
	}
	l.reach("committed")
	if err := apply(l.ops, l.reach); err != nil {
		if undo(l.ops) {
			return errors.Join(err, l.record.end())
		}
		l.record.leave()
		return errors.Join(err, ErrHalf)
	}
	forget(l.ops)
	return l.record.end()
}

// prepare makes the temporaries and the second names, and brings them to the disk.
func (l *landing) prepare() error {
	for _, o := range l.ops {
		if o.Temp != "" {
			if err := l.make(o.root, o.Temp, o.change.Put); err != nil {
				return &PathError{o.change.Path, err}
			}
		}
		if o.Backup != "" && !o.Away {
			_ = o.root.Link(o.Name, o.Backup) // without second names it cannot be undone, only finished
		}
	}
	l.reach("prepared")
	return syncFolders(l.ops)
}
