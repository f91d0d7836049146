package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// keepDelay delays copies of the bytes first seen at the start: the client waits for its list of tools, and a folder
// may hold hundreds of megabytes. Later bytes are copied at once.
const keepDelay = 300 * time.Millisecond

// keepAtEnd limits how long Close waits for copies: a client that only probes the host ends it soon.
const keepAtEnd = 2 * time.Second

// keeper copies approved bytes to the lock's store, one file at a time, and writes the lock file after the last. It also
// approves updates by their interface.
type keeper struct {
	approvals
	life    *lifecycle
	log     *slog.Logger
	changed func() // called in the background after an approval changed

	over    atomic.Bool // the host ends: no further copies
	copying sync.Mutex  // held during a copy

	mu      sync.Mutex
	seen    map[string]bool // started copies and comparisons, by name and digest
	open    int             // copies that have not ended
	started bool            // the start is over
}

// begun ends the start: later bytes are copied at once.
func (k *keeper) begun() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started = true
}

// follow starts copies of approved bytes that exist only in the plugin's own file, and comparisons of updates with the
// approved bytes.
func (k *keeper) follow(plans []*plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range plans {
		if p.copy == "" && p.pin != nil && p.held == nil && p.pending == "" && p.module != nil {
			k.keep(p)
		}
		if p.isUpdate() {
			k.compare(p)
		}
	}
}

// keep copies the bytes of an approved plan and writes its pin, in the background. k.mu must be held.
func (k *keeper) keep(p *plan) {
	key := p.name + "\x00" + p.module.Digest
	if k.seen[key] || p.pin.Imports != nil && k.lock.Copies.HasAll(*p.pin) && !k.lock.Unsaved(p.name) {
		return
	}
	k.seen[key] = true
	k.open++
	m, terms, name := p.module, p.terms(), p.name
	delay := keepDelay
	if k.started {
		delay = 0
	}
	m.Retain()
	k.life.work.Go(func() {
		defer m.Release()
		defer k.savePins()
		select {
		case <-k.life.stop.Done(): // Close leaves time for this copy
		case <-time.After(delay):
		}
		k.copying.Lock()
		defer k.copying.Unlock()
		if k.over.Load() {
			return // left to the next run
		}
		if err := k.keepBytes(name, m, terms); err != nil {
			k.log.Warn("the bytes of a plugin are not kept, so they are not pinned", "plugin", name, "error", err)
		}
	})
}

// keepBytes reads the bytes of a module again, pins them and stores a copy.
func (k *keeper) keepBytes(name string, m *plugin.Module, terms lock.Terms) error {
	wasm, err := k.bytesOf(m)
	if err != nil {
		return err
	}
	if terms.Imports, err = importsOf(wasm); err != nil {
		return err
	}
	pin := terms.Pin("")
	k.lock.Trust(name, pin)
	if k.lock.Copies.HasAll(pin) {
		return nil
	}
	return k.lock.Copies.Put(wasm, terms)
}

// savePins writes the lock file when no copy is pending.
func (k *keeper) savePins() {
	k.mu.Lock()
	k.open--
	last := k.open == 0
	k.mu.Unlock()
	if !last {
		return
	}
	if err := k.lock.Save(context.Background()); err != nil {
		k.log.Error("the plugins seen first could not be pinned", "file", k.lock.File(), "error", err)
	}
}

// isPinned reports whether the bytes that a plan serves are in the lock file.
func (k *keeper) isPinned(p *plan) bool {
	return p.pin != nil && k.lock != nil && !k.lock.Unsaved(p.name)
}

// admission returns a function that pins a first-seen plugin before its first call: grants belong to the bytes that had
// them first, even if this host is killed right after. It returns nil if they are pinned.
func (k *keeper) admission(p *plan) func(context.Context) error {
	l := k.lock
	if p.pin == nil || l == nil || l.ReadOnly() || !l.Unsaved(p.name) {
		return nil
	}
	name, m, terms := p.name, p.module, p.terms()
	return func(ctx context.Context) error {
		err := k.keepBytes(name, m, terms)
		if err == nil {
			err = l.Save(ctx)
		}
		if pin, _ := l.Pin(name); pin.Digest != m.Digest {
			k.life.work.Go(k.changed)
			return &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf(
				"plugin %q is held: another host has pinned other bytes of that name, and sallyport list says which", name)}
		}
		if err != nil && ctx.Err() == nil { // an unwritable state folder must not block calls
			k.log.Error("a plugin runs that could not be pinned", "plugin", name, "file", l.File(), "error", err)
			return nil
		}
		return err
	}
}

// compare approves waiting bytes that have the same imports, wants and entries as the approved ones, under UpdatesSame.
// k.mu must be held.
func (k *keeper) compare(p *plan) {
	m, name, pin := p.file.module, p.name, *p.pin
	key := name + "\x00" + m.Digest
	if k.seen[key] || pin.Digest == "" || pin.Refused(m.Digest) {
		return
	}
	k.seen[key] = true
	terms, file := termsOf(m, p.manifestFile.manifest()), p.path
	m.Retain()
	k.life.work.Go(func() {
		defer m.Release()
		same, err := k.takeSame(name, file, pin, m, terms)
		if err != nil {
			k.log.Warn("new bytes of a plugin could not be compared with the approved ones", "plugin", name, "error", err)
		}
		if same {
			k.log.Info("new bytes are approved: they import, want and offer the same", "plugin", name, "digest", m.Digest)
			k.changed()
		}
	})
}

// takeSame approves the bytes of a module in place of a pin if they have the same interface.
func (k *keeper) takeSame(name, file string, pin lock.Pin, m *plugin.Module, terms lock.Terms) (bool, error) {
	wasm, err := k.bytesOf(m)
	if err != nil {
		return false, err
	}
	if terms.Imports, err = importsOf(wasm); err != nil {
		return false, err
	}
	next := terms.Pin(file)
	if !next.SameInterface(pin) {
		return false, nil
	}
	if err := k.lock.Copies.Put(wasm, terms); err != nil {
		return false, err
	}
	err = k.lock.Approve(k.life.stop, name, pin.Digest, next)
	if errors.Is(err, lock.ErrMoved) {
		return false, nil // the operator was first
	}
	return err == nil, err
}
