package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// place holds the pins that processes share: a file, or a record of a database.
type place interface {
	fmt.Stringer
	// look returns the state of the place, without its pins.
	look(ctx context.Context) (state, error)
	// read returns the pins, which are not shared, and their state.
	read(ctx context.Context) (map[string]Pin, state, error)
	// update applies a change to the present pins. Processes take turns: change may be called more than once, each time with
	// the pins of then, after send, which stores the copies of new pins for other hosts. Pins that cannot be read are not
	// overwritten.
	update(ctx context.Context, send func(context.Context) error, change func(map[string]Pin)) (map[string]Pin, state, error)
}

// state identifies the pins of a place at a time.
type state struct {
	file    os.FileInfo // nil if there is none
	version int64       // of the record, 0 if there is none
}

// unknown is the state of a place that was not read.
var unknown = state{version: -1}

func (s state) same(t state) bool { return s.version == t.version && sameFile(s.file, t.file) }

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// file is the path of a lock file.
type file string

func (f file) String() string { return string(f) }

func (f file) look(context.Context) (state, error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return state{}, nil // read returns the error
	}
	return state{file: info}, nil
}

func (f file) read(ctx context.Context) (map[string]Pin, state, error) {
	seen, _ := f.look(ctx)
	pins, err := read(string(f))
	return pins, seen, err
}

func (f file) update(ctx context.Context, _ func(context.Context) error, change func(map[string]Pin)) (map[string]Pin, state, error) {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return nil, state{}, err
	}
	unlock, err := commit.LockFile(ctx, string(f)+".busy")
	if err != nil {
		return nil, state{}, err
	}
	defer unlock()
	pins, err := read(string(f))
	if err != nil {
		return nil, state{}, err
	}
	change(pins)
	raw, err := encode(pins)
	if err == nil {
		err = replace(string(f), raw, 0o644)
	}
	if err != nil {
		return nil, state{}, err
	}
	seen, _ := f.look(ctx)
	return pins, seen, nil
}

// Waits of a lock in a database.
const (
	// lookTime bounds the wait for the state of the record.
	lookTime = 15 * time.Second
	// maxTries bounds the attempts of an update that conflicts with others.
	maxTries = 100
)

// recordID is the ID of the one record of pins.
const recordID = "plugins"

// errGone is returned if there was a record, and is none any more: in a database that was replaced by an empty one, for
// example, the first bytes seen would be trusted again.
var errGone = errors.New("it is gone, and the approvals of before stay in force: restore the database, or restart the hosts to trust the present bytes")

// database is the record of a database. Its content has the form of the file.
type database struct {
	store *store.Store
	found atomic.Bool // whether there was a record
}

func (*database) String() string { return "the lock in the database" }

func (d *database) failure(err error) error { return fmt.Errorf("%s: %w", d, err) }

func (d *database) look(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	version, err := d.store.VersionOf(ctx, store.Lock, recordID)
	if errors.Is(err, store.ErrNotFound) {
		return state{}, nil // read returns errGone
	}
	if err != nil {
		return state{}, d.failure(err)
	}
	return state{version: version}, nil
}

func (d *database) read(ctx context.Context) (map[string]Pin, state, error) {
	pins, r, err := d.get(ctx)
	return pins, state{version: r.Version}, err
}

// get returns the pins and their record, an empty one if there is none.
func (d *database) get(ctx context.Context) (map[string]Pin, store.Record, error) {
	r, err := d.store.Get(ctx, store.Lock, recordID)
	switch {
	case errors.Is(err, store.ErrNotFound) && d.found.Load():
		return nil, r, d.failure(errGone)
	case errors.Is(err, store.ErrNotFound):
		return map[string]Pin{}, store.Record{ID: recordID}, nil
	case err != nil:
		return nil, r, d.failure(err)
	}
	pins, err := parsed(r.Data, nil)
	if err != nil {
		return nil, r, d.failure(err)
	}
	d.found.Store(true)
	return pins, r, nil
}

func (d *database) update(ctx context.Context, send func(context.Context) error, change func(map[string]Pin)) (map[string]Pin, state, error) {
	for try := 1; ; try++ {
		pins, r, err := d.get(ctx)
		if err == nil {
			err = send(ctx) // after the version is known: a prune since then changes it
		}
		if err != nil {
			return nil, state{}, err
		}
		change(pins)
		raw, err := encode(pins)
		if err != nil {
			return nil, state{}, d.failure(err)
		}
		if bytes.Equal(raw, r.Data) {
			return pins, state{version: r.Version}, nil
		}
		if r.Data = raw; r.Version == 0 {
			r, err = d.store.Add(ctx, store.Lock, r)
		} else {
			r, err = d.store.Replace(ctx, store.Lock, r)
		}
		switch conflict := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists); {
		case err == nil:
			d.found.Store(true)
			return pins, state{version: r.Version}, nil
		case !conflict || try == maxTries:
			return nil, state{}, d.failure(err)
		}
	}
}
