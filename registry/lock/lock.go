package lock

import (
	"context"
	"maps"
	"os"
	"reflect"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
)

// Options say where a lock is.
type Options struct {
	File string // the lock file; it need not exist
	Keep string // the folder for approved bytes; "" keeps none
	// Locked trusts nothing that is not in the file.
	Locked bool
	// ReadOnly leaves the file and the folder as they are: what is seen first is trusted for this run alone.
	ReadOnly bool
}

// Lock is one lock file, as it was read last, and what this process saw first. It is safe for concurrent use.
type Lock struct {
	o Options

	mu    sync.Mutex
	pins  map[string]Pin
	fresh map[string]Pin // trusted by this process, and not in the file yet
	seen  os.FileInfo    // of the file that was read; nil if there was none
	news  bool           // a change of the file was taken in that Refresh has not told
}

// Open reads a lock file. Errors are *FileError.
func Open(o Options) (*Lock, error) {
	l := &Lock{o: o, fresh: map[string]Pin{}}
	l.seen = stat(o.File)
	pins, err := read(o.File)
	if err != nil {
		return nil, err
	}
	l.pins = pins
	return l, nil
}

func stat(file string) os.FileInfo {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// File is the lock file.
func (l *Lock) File() string { return l.o.File }

// Locked reports whether nothing is trusted that is not in the file.
func (l *Lock) Locked() bool { return l.o.Locked }

// Pin is what is known of a plugin; false if it was never seen. The caller must not change it.
func (l *Lock) Pin(name string) (Pin, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.pins[name]
	return p, ok
}

// Trust pins a plugin that is seen for the first time, or definitions of it that are, for this process; Save
// writes it down. What is pinned stays: Trust never replaces anything. A lock that is Locked trusts nothing.
func (l *Lock) Trust(name string, p Pin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Locked {
		return
	}
	if next, changed := trusted(l.pins[name], p); changed {
		l.pins[name] = next
		l.fresh[name] = next
	}
}

// trusted adds to a pin what it does not know yet.
func trusted(have, seen Pin) (next Pin, changed bool) {
	if have.Digest == "" && !have.Refused(seen.Digest) {
		seen.Rejected = have.Rejected
		return seen, true
	}
	if have.Digest != seen.Digest {
		return have, false
	}
	if have.Imports == nil && seen.Imports != nil { // they are known only once the file was read
		have.Imports, changed = seen.Imports, true
	}
	for name := range seen.Definitions {
		if _, known := have.Definitions[name]; !known {
			all := maps.Clone(seen.Definitions)
			maps.Copy(all, have.Definitions)
			have.Definitions = all
			return have, true
		}
	}
	return have, changed
}

// Unsaved reports whether something of a plugin was trusted that Save has not written down.
func (l *Lock) Unsaved(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.fresh[name]
	return ok
}

// Save writes down what Trust noted. Where the file says something else by now, the file is right.
func (l *Lock) Save(ctx context.Context) error {
	l.mu.Lock()
	fresh := l.fresh
	l.fresh = map[string]Pin{}
	l.mu.Unlock()
	if len(fresh) == 0 || l.o.ReadOnly {
		return nil
	}
	return l.update(ctx, func(pins map[string]Pin) {
		for name, p := range fresh {
			if next, changed := trusted(pins[name], p); changed {
				pins[name] = next
			}
		}
	})
}

// Approve records that an operator agrees to a plugin as it is; what was agreed to before is forgotten.
func (l *Lock) Approve(ctx context.Context, name string, p Pin) error {
	return l.update(ctx, func(pins map[string]Pin) { pins[name] = p })
}

// Replace is Approve if the plugin is still pinned to another digest, which it gives: for changes that the
// operator agreed to beforehand.
func (l *Lock) Replace(ctx context.Context, name, before string, p Pin) error {
	return l.update(ctx, func(pins map[string]Pin) {
		if pins[name].Digest == before {
			pins[name] = p
		}
	})
}

// Reject records that an operator does not want these bytes; what was agreed to before stays.
func (l *Lock) Reject(ctx context.Context, name, digest string) error {
	return l.update(ctx, func(pins map[string]Pin) { pins[name] = pins[name].rejecting(digest) })
}

// update changes the file as it is now. Processes take turns.
func (l *Lock) update(ctx context.Context, change func(map[string]Pin)) error {
	if l.o.ReadOnly {
		l.mu.Lock()
		defer l.mu.Unlock()
		change(l.pins)
		return nil
	}
	if err := os.MkdirAll(dirOf(l.o.File), 0o700); err != nil {
		return err
	}
	unlock, err := landing.LockFile(ctx, l.o.File+".busy")
	if err != nil {
		return err
	}
	defer unlock()
	pins, err := read(l.o.File)
	if err != nil {
		return err // what cannot be read is not written over
	}
	change(pins)
	raw, err := encode(pins)
	if err == nil {
		err = replace(l.o.File, raw, 0o644)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.news = l.news || !reflect.DeepEqual(l.pins, pins) // another process was here since
	l.mu.Unlock()
	l.take(pins, stat(l.o.File))
	return nil
}

// take makes pins what is known; what is fresh and not in them stays trusted.
func (l *Lock) take(pins map[string]Pin, seen os.FileInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, p := range l.fresh {
		if next, changed := trusted(pins[name], p); changed {
			pins[name] = next
		}
	}
	l.pins, l.seen = pins, seen
}

// Refresh reads the file again if it is another than before. It also tells of what was found in it since the last time,
// while something was written down. With an error all stays as it was; it is returned once for each change.
func (l *Lock) Refresh() (changed bool, err error) {
	now := stat(l.o.File)
	l.mu.Lock()
	same, news := sameFile(l.seen, now), l.news
	l.seen = now
	l.news = l.news && !same
	l.mu.Unlock()
	if same {
		return news, nil
	}
	pins, err := read(l.o.File)
	if err != nil {
		return false, err
	}
	l.take(pins, now)
	l.mu.Lock()
	l.news = false
	l.mu.Unlock()
	return true, nil
}

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
