package lock

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
)

// Options say where a lock is.
type Options struct {
	File string // the lock file; it need not exist
	Keep string // the folder for approved bytes; "" keeps none
	// Locked trusts nothing that is not in the file.
	Locked bool
	// ReadOnly leaves the file and the folder as they are: the bytes seen first are trusted for this run alone.
	ReadOnly bool
}

// Lock is one lock file, as it was read last, and what this process saw first. It is safe for concurrent use.
type Lock struct {
	o Options

	mu    sync.Mutex
	pins  map[string]Pin
	fresh map[string]Pin  // trusted by this process, and not in the file yet
	first map[string]bool // of fresh, those of which the file has no bytes
	seen  os.FileInfo     // of the file that was read; nil if there was none
	news  bool            // a change of the file was taken in that Refresh has not told
}

// Open reads a lock file. Errors are *FileError.
func Open(o Options) (*Lock, error) {
	l := &Lock{o: o, fresh: map[string]Pin{}, first: map[string]bool{}}
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

// ReadOnly reports whether the file stays as it is.
func (l *Lock) ReadOnly() bool { return l.o.ReadOnly }

// Pin is what is known of a plugin; false if it was never seen. The caller must not change it.
func (l *Lock) Pin(name string) (Pin, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.pins[name]
	return p, ok
}

// OtherCase is the name of a known plugin that differs from one only in case, and so is the same; "" if there is none.
func (l *Lock) OtherCase(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return otherCase(l.pins, name)
}

func otherCase(pins map[string]Pin, name string) string {
	for other := range pins {
		if other != name && strings.EqualFold(other, name) {
			return other
		}
	}
	return ""
}

// Trust pins a plugin that is seen for the first time, or new definitions of it, for this process; Save
// writes it. A pin stays: Trust never replaces one, and makes none beside one whose name differs only in case. A lock that is
// Locked trusts nothing.
func (l *Lock) Trust(name string, p Pin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.pins[name]; l.o.Locked || !known && otherCase(l.pins, name) != "" {
		return
	}
	if next, changed := trusted(l.pins[name], p); changed {
		l.first[name] = l.first[name] || l.pins[name].Digest == ""
		l.pins[name], l.fresh[name] = next, next
	}
}

// trusted adds to a pin what it does not have yet.
func trusted(have, seen Pin) (next Pin, changed bool) {
	if have.Digest == "" && !have.Refused(seen.Digest) {
		seen.Rejected = have.Rejected
		return seen, true
	}
	if have.Digest != seen.Digest {
		return have, false
	}
	if have.Imports == nil && seen.Imports != nil { // which are known only once the file was read
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

// Unsaved reports whether a pin of a plugin, or a part of it, is not written yet.
func (l *Lock) Unsaved(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.fresh[name]
	return ok
}

// Unwritten reports whether no file has any bytes pinned for a plugin: its pin is of this process alone.
func (l *Lock) Unwritten(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first[name]
}

// Save writes the pins of all bytes that are kept: a pin without its bytes could only hold a plugin back, and never
// have the approved ones serve. Where the file has another pin by now, that one holds.
func (l *Lock) Save(ctx context.Context) error {
	if l.o.ReadOnly {
		return nil
	}
	l.mu.Lock()
	ready := map[string]Pin{}
	for name, n := range l.fresh {
		if l.o.Keep == "" || l.KeepsAll(n) {
			ready[name] = n
		}
	}
	l.mu.Unlock()
	if len(ready) == 0 {
		return nil
	}
	return l.update(ctx, func(pins map[string]Pin) {
		for name, n := range ready {
			if _, known := pins[name]; !known && otherCase(pins, name) != "" {
				continue
			}
			if next, changed := trusted(pins[name], n); changed {
				pins[name] = next
			}
		}
	}, ready)
}

// Approve records that an operator agrees to a plugin as it is; what was agreed to before is forgotten.
func (l *Lock) Approve(ctx context.Context, name string, p Pin) error {
	other := ""
	err := l.update(ctx, func(pins map[string]Pin) {
		if _, known := pins[name]; !known {
			other = otherCase(pins, name)
		}
		if other == "" {
			pins[name] = p
		}
	}, nil)
	if err == nil && other != "" {
		err = fmt.Errorf("names that differ only in case are one name, and %s is pinned: rename the file of %s", other, name)
	}
	return err
}

// Replace is Approve if the plugin is still pinned to another digest, which it gives: for changes that the
// operator agreed to beforehand.
func (l *Lock) Replace(ctx context.Context, name, before string, p Pin) error {
	return l.update(ctx, func(pins map[string]Pin) {
		if pins[name].Digest == before {
			pins[name] = p
		}
	}, nil)
}

// Reject records that an operator does not want these bytes; what was agreed to before stays.
func (l *Lock) Reject(ctx context.Context, name, digest string) error {
	return l.update(ctx, func(pins map[string]Pin) { pins[name] = pins[name].rejecting(digest) }, nil)
}

// update changes the file as it is now, after which the written notes are in it. Processes take turns.
func (l *Lock) update(ctx context.Context, change func(map[string]Pin), written map[string]Pin) error {
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
	for name, n := range written {
		if reflect.DeepEqual(l.fresh[name], n) {
			delete(l.fresh, name)
		}
	}
	before := l.pins
	l.mu.Unlock()
	l.take(pins, stat(l.o.File))
	l.mu.Lock()
	l.news = l.news || !reflect.DeepEqual(before, pins) // another process was here since
	l.mu.Unlock()
	return nil
}

// take makes pins what is known; what is fresh and not in them stays trusted.
func (l *Lock) take(pins map[string]Pin, seen os.FileInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.first, func(name string, _ bool) bool { return pins[name].Digest != "" })
	for name, n := range l.fresh {
		if _, known := pins[name]; !known && otherCase(pins, name) != "" {
			delete(l.fresh, name)
			continue
		}
		if next, changed := trusted(pins[name], n); changed {
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
