package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
)

// Options configures a Lock.
type Options struct {
	File string // the lock file; it need not exist
	Keep string // the folder for copies of approved bytes; "" stores none
	// Locked trusts only plugins in the file.
	Locked bool
	// ReadOnly never writes the file or the folder: bytes seen first are trusted for this run only.
	ReadOnly bool
}

// Lock is the contents of a lock file as last read, with the pins that this process added. It is safe for concurrent
// use.
type Lock struct {
	Copies Copies // of the approved bytes

	o Options

	mu    sync.Mutex
	pins  map[string]Pin
	fresh map[string]Pin  // trusted by this process, not yet in the file
	first map[string]bool // of fresh, those without a digest in the file
	seen  os.FileInfo     // the file as last read; nil if it did not exist
	news  bool            // update found a change of the file that Refresh has not reported yet
}

// Open reads a lock file. Errors are *FileError.
func Open(o Options) (*Lock, error) {
	l := &Lock{o: o, Copies: Copies{dir: o.Keep, readOnly: o.ReadOnly}, fresh: map[string]Pin{}, first: map[string]bool{}}
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

// File returns the path of the lock file.
func (l *Lock) File() string { return l.o.File }

// Locked reports whether only plugins in the file are trusted.
func (l *Lock) Locked() bool { return l.o.Locked }

// ReadOnly reports whether the file is never written.
func (l *Lock) ReadOnly() bool { return l.o.ReadOnly }

// Pin returns the pin of a plugin; false if it has none. The caller must not modify it.
func (l *Lock) Pin(name string) (Pin, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.pins[name]
	return p, ok
}

// Names returns the pinned names, sorted.
func (l *Lock) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.pins))
}

// Forget removes the pin of a plugin: the next bytes of that name are new.
func (l *Lock) Forget(ctx context.Context, name string) error {
	return l.update(ctx, func(pins map[string]Pin) { delete(pins, name) }, nil)
}

// OtherCase returns the pinned name that differs from name only in case, and so is the same name; "" if there is none.
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

// Trust pins a plugin that is seen for the first time, or new definitions of it, for this process; Save writes the pin.
// Trust never replaces a pin, and adds none if a name that differs only in case is pinned. If the lock is Locked, Trust
// does nothing.
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

// trusted adds the missing parts to a pin.
func trusted(have, seen Pin) (next Pin, changed bool) {
	if have.Digest == "" && !have.Refused(seen.Digest) {
		seen.Rejected = have.Rejected
		return seen, true
	}
	if have.Digest != seen.Digest {
		return have, false
	}
	if have.Imports == nil && seen.Imports != nil { // known only after the file was read
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

// Unwritten reports whether the lock file has no digest for a plugin: its pin exists in this process only.
func (l *Lock) Unwritten(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first[name]
}

// Save writes the pins of all stored bytes: a pin without its bytes could hold a plugin back but not serve the approved
// bytes. If the file has a different pin by now, that one stays.
func (l *Lock) Save(ctx context.Context) error {
	if l.o.ReadOnly {
		return nil
	}
	l.mu.Lock()
	ready := map[string]Pin{}
	for name, n := range l.fresh {
		if l.o.Keep == "" || l.Copies.HasAll(n) {
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

// ErrMoved is returned for an approval of a change from other bytes than those that are approved by now.
var ErrMoved = errors.New("other bytes were approved meanwhile")

// Approve records the approval of a plugin and replaces its pin, with the rejections. before is the digest that the pin
// had when the change was shown, "" for none; ErrMoved is returned if it has another one by now.
func (l *Lock) Approve(ctx context.Context, name, before string, p Pin) error {
	var refused error
	err := l.update(ctx, func(pins map[string]Pin) {
		now, known := pins[name]
		other := ""
		if !known {
			other = otherCase(pins, name)
		}
		switch {
		case other != "":
			refused = fmt.Errorf("names that differ only in case are one name, and %s is pinned: rename the file of %s", other, name)
		case now.Digest != before && now.Digest != p.Digest:
			refused = fmt.Errorf("plugin %q: %w: nothing was changed, look at it again", name, ErrMoved)
		default:
			pins[name] = p
		}
	}, nil)
	return cmp.Or(err, refused)
}

// Reject records that the operator rejected a digest; the approved one stays.
func (l *Lock) Reject(ctx context.Context, name, digest string) error {
	return l.update(ctx, func(pins map[string]Pin) { pins[name] = pins[name].rejecting(digest) }, nil)
}

// update applies change to the current file and removes written from fresh. Processes take turns.
func (l *Lock) update(ctx context.Context, change func(map[string]Pin), written map[string]Pin) error {
	if l.o.ReadOnly {
		l.mu.Lock()
		defer l.mu.Unlock()
		change(l.pins)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.o.File), 0o700); err != nil {
		return err
	}
	unlock, err := commit.LockFile(ctx, l.o.File+".busy")
	if err != nil {
		return err
	}
	defer unlock()
	pins, err := read(l.o.File)
	if err != nil {
		return err // an unreadable file is not overwritten
	}
	change(pins)
	raw, err := encode(pins)
	if err == nil {
		err = replace(l.o.File, raw, 0o644)
	}
	if err != nil {
		return err
	}
	seen := stat(l.o.File)
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, n := range written {
		if reflect.DeepEqual(l.fresh[name], n) {
			delete(l.fresh, name)
		}
	}
	before := l.pins
	l.take(pins, seen)
	l.news = l.news || !reflect.DeepEqual(before, pins) // changed by a different process
	return nil
}

// take sets the known pins; fresh pins that are not in them stay trusted. mu must be held.
func (l *Lock) take(pins map[string]Pin, seen os.FileInfo) {
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

// Refresh reads the file again if it changed. It also reports changes that update found since the last Refresh. On
// error nothing changes; each error is returned once.
func (l *Lock) Refresh() (changed bool, err error) {
	now, same, news := l.look()
	if same {
		return news, nil
	}
	pins, err := read(l.o.File)
	if err != nil {
		return false, err
	}
	l.refresh(pins, now)
	return true, nil
}

// look reports whether the file is still that which was read last, and, if so, whether update has found a change.
func (l *Lock) look() (now os.FileInfo, same, news bool) {
	now = stat(l.o.File)
	l.mu.Lock()
	defer l.mu.Unlock()
	same, news = sameFile(l.seen, now), l.news
	l.seen = now
	l.news = news && !same
	return now, same, news
}

// refresh takes the pins that were read after a look, unless update has written the file since: its pins are newer.
func (l *Lock) refresh(pins map[string]Pin, now os.FileInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == now {
		l.take(pins, now)
		l.news = false
	}
}

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
