package commit

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

// Land commits the changes. dir is the folder of records and locks, shared by all processes of a state folder. After
// an error nothing has landed, unless ErrHalf is in its chain. ctx cancels only the waiting for other landings.
func Land(ctx context.Context, dir string, changes []Change) error {
	return LandWith(ctx, dir, changes, nil)
}

// Keys are stored together with the changes of a landing.
type Keys interface {
	// Keep calls apply, then stores the keys and the id of the landing in one transaction. After an error everything
	// is undone. No other lock is waited for while it runs.
	Keep(id string, apply func() error) error
	// Kept implements Landed.
	Kept(id string) (bool, error)
	// Ended means that the id of the landing is no longer needed.
	Ended(id string)
}

// LandWith is Land with keys that are stored if and only if the changes land, even after a crash. Nil means no keys.
func LandWith(ctx context.Context, dir string, changes []Change, keys Keys) error {
	if len(changes) == 0 {
		if keys != nil {
			return keys.Keep("", func() error { return nil })
		}
		return nil
	}
	l := &landing{dir: dir, changes: slices.Clone(changes), keys: keys, same: map[*Entry]made{}, reach: watcher(ctx)}
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

// ErrHalf means that a landing failed in the middle and could not be undone, or that its outcome is unknown. Recover
// resolves it at the next start.
var ErrHalf = errors.New("the changes may have landed in part: the next start finishes them or takes them back")

// landing is one set of changes in progress.
type landing struct {
	id      string
	dir     string
	changes []Change
	keys    Keys // nil for none
	ops     []*op
	record  *record
	same    map[*Entry]made // files with several names
	reach   func(string)    // is called after each step, for Watch
}

// watchKey is the context key of the function that Watch sets.
type watchKey struct{}

// Watch returns a context under which f is called after each step of a landing that a crash can interrupt: planned,
// prepared, committed, applied (after each change), undoing, landed, forgotten. Tests end a process there.
func Watch(ctx context.Context, f func(step string)) context.Context {
	return context.WithValue(ctx, watchKey{}, f)
}

func watcher(ctx context.Context) func(string) {
	if f, ok := ctx.Value(watchKey{}).(func(string)); ok {
		return f
	}
	return func(string) {}
}

// made is the place where an entry was created.
type made struct {
	root *os.Root
	name string
}

func (l *landing) run() error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.record.leave() // also if a hook or a bug panics; without effect if the record has ended
	l.reach("planned")
	if err := l.prepare(); err != nil {
		drop(l.ops)
		return errors.Join(err, l.record.end())
	}
	if err := l.decide(); err != nil {
		return err
	}
	l.reach("landed")
	forget(l.ops)
	l.reach("forgotten")
	if err := l.record.end(); err != nil {
		return nil // the changes are committed, and the next start has nothing to do
	}
	if l.keys != nil {
		l.keys.Ended(l.id)
	}
	return nil
}

// maxTries is the number of attempts to create a record, if another process recovers it before it is locked.
const maxTries = 100

// begin plans the landing and writes its record.
func (l *landing) begin() (err error) {
	for range maxTries {
		l.id, l.ops = strings.ToLower(rand.Text()[:12]), nil
		if err := l.plan(); err != nil {
			return err
		}
		if l.record, err = begin(l.dir, l.id, l.ops); !errors.Is(err, errTaken) {
			return err
		}
	}
	return err
}

// decide commits and applies the landing, or undoes it.
func (l *landing) decide() error {
	how := committed
	if l.keys != nil {
		how = joint
	}
	if err := l.record.note(how, l.ops); err != nil {
		return l.takeBack(err, how)
	}
	l.reach("committed")
	if l.keys == nil {
		return l.takeBack(apply(l.ops, l.reach), how)
	}
	err := l.keys.Keep(l.id, func() error { return apply(l.ops, l.reach) })
	if err == nil {
		return nil
	}
	if kept, unknown := l.keys.Kept(l.id); unknown != nil {
		l.record.leave()
		return errors.Join(err, unknown, ErrHalf)
	} else if kept {
		return nil
	}
	return l.takeBack(err, how)
}

// takeBack undoes the landing after an error. A committed one is first recorded as undoing, so that Recover does not
// finish it.
func (l *landing) takeBack(err error, how state) error {
	if err == nil {
		return nil
	}
	if how == committed {
		if failed := l.record.note(undoing, nil); failed != nil {
			l.record.leave() // its record says that it is to be finished
			return errors.Join(err, failed, ErrHalf)
		}
	}
	l.reach("undoing")
	if failed := undo(l.ops, nil); failed != nil {
		l.record.leave()
		return errors.Join(err, failed, ErrHalf)
	}
	return errors.Join(err, l.record.end())
}

// prepare creates the temporaries and the hard links, and flushes them to disk.
func (l *landing) prepare() error {
	for _, o := range l.ops {
		if o.Temp != "" {
			if err := l.make(o.root, o.Temp, o.change.Put); err != nil {
				return &PathError{o.change.Path, err}
			}
			now, err := stat(o.root, o.Temp)
			if err != nil {
				return &PathError{o.change.Path, err}
			}
			o.made = markOf(now)
		}
		if o.Backup != "" && !o.Away {
			_ = o.root.Link(o.Name, o.Backup) // without hard links the old file is moved to Backup when it is replaced
		}
	}
	l.reach("prepared")
	return syncFolders(l.ops)
}
