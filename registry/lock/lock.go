package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Options configures a Lock.
type Options struct {
	File string // the lock file; it need not exist
	Keep string // the folder for copies of approved bytes; "" stores none
	// Store holds the pins in place of the file, for the hosts of a database; nil is the file. Pins of the file whose names it
	// does not have are added to it, and the file is renamed.
	Store *store.Store
	// Later opens the lock of a database that cannot be reached. It approves nothing until a Refresh reaches it.
	Later bool
	// Locked trusts only plugins in the lock.
	Locked bool
	// ReadOnly never writes the lock or the folder: bytes seen first are trusted for this run only.
	ReadOnly bool
}

// Lock is the contents of a lock as last read, with the pins that this process added. It is safe for concurrent use.
type Lock struct {
	Copies Copies // of the approved bytes

	o     Options
	place place

	mu     sync.Mutex
	pins   map[string]Pin
	fresh  map[string]Pin  // trusted by this process, not yet in the lock
	first  map[string]bool // of fresh, those without a digest in the lock
	local  map[string]Pin  // of the file, to be added to the database
	seen   state           // of the pins as last read
	taken  int64           // the version of pins
	older  bool            // take found an older record, which Restored has not reported yet
	news   bool            // update found a change that Refresh has not reported yet
	unread error           // why the pins were never read; nil if they were
	failed bool            // the last Refresh could not look
}

// Open reads a lock. The error of a lock file is a *FileError, that of a database which is away store.ErrUnavailable.
func Open(o Options) (*Lock, error) {
	l := &Lock{o: o, place: file(o.File), Copies: Copies{dir: o.Keep, readOnly: o.ReadOnly, store: o.Store}, fresh: map[string]Pin{}, first: map[string]bool{}, seen: unknown, pins: map[string]Pin{}}
	if o.Store != nil {
		l.place = &database{store: o.Store}
		var err error
		if l.local, err = read(o.File); err != nil {
			return nil, err
		}
	}
	err := l.begin(context.Background())
	if o.Later && errors.Is(err, store.ErrUnavailable) {
		l.unread = err
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// begin reads the pins for the first time, and adds those of the file to a database.
func (l *Lock) begin(ctx context.Context) error {
	if len(l.local) > 0 && !l.o.ReadOnly {
		if err := l.update(ctx, nothing, func(map[string]Pin) {}, nil); err != nil {
			return err
		}
		// Once: a pin that is removed from the database later must not come back.
		if err := os.Rename(l.o.File, l.o.File+broughtSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the pins of the lock file are in the database now, and the file has to go: %w", err)
		}
		return nil
	}
	pins, seen, err := l.place.read(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take(pins, seen)
	return nil
}

// broughtSuffix is added to the name of a lock file whose pins were added to a database.
const broughtSuffix = ".in-database"

// addLocal adds the pins of the file whose names a database does not have: other bytes of such a name, held or rejected
// so far, would be trusted as the first ones.
func addLocal(pins, local map[string]Pin) {
	for name, pin := range local {
		if _, known := pins[name]; !known && otherCase(pins, name) == "" {
			pins[name] = pin
		}
	}
}

// Place names the file, or the database.
func (l *Lock) Place() string { return l.place.String() }

// Store returns the store of a lock in a database; nil for a file.
func (l *Lock) Store() *store.Store { return l.o.Store }

// Close closes the store of a lock in a database.
func (l *Lock) Close() error {
	if l.o.Store == nil {
		return nil
	}
	return l.o.Store.Close()
}

// Unread returns the reason for which the pins were never read; nil if they were. Nothing is approved meanwhile.
func (l *Lock) Unread() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unread
}

// Locked reports whether only plugins in the lock are trusted.
func (l *Lock) Locked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked()
}

func (l *Lock) locked() bool { return l.o.Locked || l.unread != nil }

// ReadOnly reports whether the lock is never written.
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

// Forget removes the pin of a plugin: the next bytes of that name are new. With a database, it is removed from the file
// too.
func (l *Lock) Forget(ctx context.Context, name string) error {
	forget := func(pins map[string]Pin) { delete(pins, name) }
	if local, err := read(l.o.File); l.o.Store != nil && !l.o.ReadOnly && (err != nil || local[name].known()) {
		if _, _, err := file(l.o.File).update(ctx, nothing, forget); err != nil {
			return err
		}
	}
	return l.update(ctx, nothing, forget, nil)
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
	if _, known := l.pins[name]; l.locked() || !known && otherCase(l.pins, name) != "" {
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

// Unwritten reports whether the lock has no digest for a plugin: its pin exists in this process only.
func (l *Lock) Unwritten(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first[name]
}

// Save writes the pins of all stored bytes: a pin without its bytes could hold a plugin back but not serve the approved
// bytes. If the lock has a different pin by now, that one stays. Those whose bytes cannot be stored for other hosts are not
// written, and the rest is.
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
	var unsent error
	send := func(ctx context.Context) error {
		for name, n := range ready {
			if err := l.Copies.Send(ctx, n); err != nil {
				unsent = errors.Join(unsent, fmt.Errorf("plugin %q: %w", name, err))
				delete(ready, name)
			}
		}
		if len(ready) == 0 {
			return errNoneSent
		}
		return nil
	}
	err := l.update(ctx, send, func(pins map[string]Pin) {
		for name, n := range ready {
			if _, known := pins[name]; !known && otherCase(pins, name) != "" {
				continue
			}
			if next, changed := trusted(pins[name], n); changed {
				pins[name] = next
			}
		}
	}, ready)
	if errors.Is(err, errNoneSent) {
		return unsent
	}
	return errors.Join(unsent, err)
}

// errNoneSent ends an update of which no pin has its copy in the database.
var errNoneSent = errors.New("no copy was sent")

// ErrMoved is returned for an approval of a change from other bytes than those that are approved by now.
var ErrMoved = errors.New("other bytes were approved meanwhile")

// Approve records the operator's approval of a plugin and replaces its pin. The rejections of other bytes stay. before is the
// digest that the pin had when the change was shown, "" for none; ErrMoved is returned if it has another one by now.
func (l *Lock) Approve(ctx context.Context, name, before string, p Pin) error {
	return l.approve(ctx, name, before, p, func(Pin) error { return nil })
}

// ErrRefused is returned for an approval without the operator of bytes that were rejected, or replaced by others.
var ErrRefused = errors.New("only the operator can approve these bytes again")

// Update is Approve without the operator. The error is ErrRefused for bytes that the operator has rejected, and for those
// that others replaced: the older file of another host would come back.
func (l *Lock) Update(ctx context.Context, name, before string, p Pin) error {
	return l.approve(ctx, name, before, p, func(now Pin) error {
		if now.Refused(p.Digest) || slices.Contains(now.Replaced, p.Digest) {
			return fmt.Errorf("plugin %q: %w", name, ErrRefused)
		}
		return nil
	})
}

// approve is Approve unless check, which gets the present pin, returns an error.
func (l *Lock) approve(ctx context.Context, name, before string, p Pin, check func(now Pin) error) error {
	var refused error
	send := func(ctx context.Context) error { return l.Copies.Send(ctx, p) }
	err := l.update(ctx, send, func(pins map[string]Pin) {
		refused = nil
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
			if refused = check(now); refused == nil {
				pins[name] = p.replacing(now)
			}
		}
	}, nil)
	return cmp.Or(err, refused)
}

// Reject records that the operator rejected a digest; the approved one stays.
func (l *Lock) Reject(ctx context.Context, name, digest string) error {
	return l.update(ctx, nothing, func(pins map[string]Pin) { pins[name] = pins[name].rejecting(digest) }, nil)
}

// nothing is the send of an update without new pins.
func nothing(context.Context) error { return nil }

// update applies change to the current pins, after send, and removes written from fresh. Both may be called more than once.
func (l *Lock) update(ctx context.Context, send func(context.Context) error, change func(map[string]Pin), written map[string]Pin) error {
	if l.o.ReadOnly {
		l.mu.Lock()
		defer l.mu.Unlock()
		change(l.pins)
		return nil
	}
	l.mu.Lock()
	local, began := l.local, l.taken
	l.mu.Unlock()
	pins, seen, err := l.place.update(ctx, send, func(pins map[string]Pin) {
		addLocal(pins, local)
		change(pins)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, n := range written {
		if reflect.DeepEqual(l.fresh[name], n) {
			delete(l.fresh, name)
		}
	}
	l.local = nil // it is there
	if l.taken != began && l.taken > seen.version {
		return nil // a later change is known, which has this one
	}
	before := l.pins
	l.take(pins, seen)
	l.news = l.news || !reflect.DeepEqual(before, pins) // changed by a different process
	return nil
}

// take sets the known pins; fresh pins that are not in them stay trusted. mu must be held.
func (l *Lock) take(pins map[string]Pin, seen state) {
	l.older = l.older || seen.version < l.taken
	addLocal(pins, l.local)
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
	l.pins, l.seen, l.taken, l.unread = pins, seen, seen.version, nil
}
