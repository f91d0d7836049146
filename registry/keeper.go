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
	seen    map[string]bool          // started copies and comparisons, by name and digest
	open    int                      // copies that have not ended
	fetches map[string]chan struct{} // fetches that have not ended, by name and digest; closed after the first attempt
	started bool                     // the start is over
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
		if p.lacksApproved() {
			k.fetch(p)
		}
	}
}

// keep copies the bytes of an approved plan and writes its pin, in the background. k.mu must be held.
func (k *keeper) keep(p *plan) {
	key := p.name + "\x00" + p.module.Digest
	kept := p.pin.Imports != nil && k.lock.Copies.HasAll(*p.pin) && !k.lock.Unsaved(p.name)
	if k.seen[key] || kept && k.lock.Store() == nil {
		return
	}
	k.seen[key] = true
	k.open++
	m, terms, name, pin := p.module, p.terms(), p.name, *p.pin
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
		if kept {
			if !k.send(name, pin) {
				k.mu.Lock()
				delete(k.seen, key) // the next look tries again
				k.mu.Unlock()
			}
		} else if err := k.keepBytes(name, m, terms); err != nil {
			k.log.Warn("the bytes of a plugin are not kept, so they are not pinned", "plugin", name, "error", err)
		}
	})
}

// send stores the copy of a pin in the database, if it is not there: a lock file was used before, or the database is a new one.
// It returns false if that failed.
func (k *keeper) send(name string, pin lock.Pin) bool {
	err := k.lock.Copies.Send(k.life.stop, pin)
	if err != nil && k.life.stop.Err() == nil {
		k.log.Warn("other hosts cannot get the approved bytes of a plugin from the database", "plugin", name, "error", err)
	}
	return err == nil
}

const (
	// fetchPause is the first pause between attempts to fetch approved bytes. It doubles up to maxFetchPause.
	fetchPause    = time.Second
	maxFetchPause = 30 * time.Second
)

// fetch gets the approved bytes of a plan from the database, in the background, until they are there or others are approved.
// During the first attempt the plan is loading, and the bytes approved before serve. k.mu must be held.
func (k *keeper) fetch(p *plan) {
	if k.lock == nil || k.lock.Store() == nil || k.lock.ReadOnly() || k.lock.Copies.HasAll(*p.pin) {
		return
	}
	name, pin := p.name, *p.pin
	if now, _ := k.lock.Pin(name); now.Digest != pin.Digest {
		return // the settings name it
	}
	key := name + "\x00" + pin.Digest
	tried, running := k.fetches[key]
	if !running {
		tried = make(chan struct{})
		k.fetches[key] = tried
		k.life.work.Go(func() { k.fetchUntil(key, name, pin, tried) })
	}
	select {
	case <-tried:
	default:
		p.loading, p.held = true, nil
	}
}

// fetchUntil fetches the copy of a pin, for as long as it is that of the name. It closes tried after the first attempt.
func (k *keeper) fetchUntil(key, name string, pin lock.Pin, tried chan struct{}) {
	var first sync.Once
	defer first.Do(func() { close(tried) })
	for pause := fetchPause; ; pause = min(2*pause, maxFetchPause) {
		err := k.lock.Copies.Fetch(k.life.stop, pin)
		if err == nil {
			k.changed() // loads the copy: one of both is under way for those that wait
			k.forgetFetch(key)
			return
		}
		if now, _ := k.lock.Pin(name); now.Digest != pin.Digest {
			k.forgetFetch(key)
			k.changed()
			return
		}
		first.Do(func() {
			if k.life.stop.Err() == nil {
				k.log.Warn("the approved bytes of a plugin are not here, and cannot be fetched from the database yet", "plugin", name, "digest", pin.Digest, "error", err)
			}
			close(tried)
			k.changed()
		})
		select {
		case <-k.life.stop.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (k *keeper) forgetFetch(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.fetches, key)
}

// fetched waits for the first attempt of each fetch, and reports whether there was one.
func (k *keeper) fetched(ctx context.Context) (any bool) {
	k.mu.Lock()
	var all []chan struct{}
	for _, tried := range k.fetches {
		all = append(all, tried)
	}
	k.mu.Unlock()
	for _, tried := range all {
		select {
		case <-tried:
		case <-ctx.Done():
		}
	}
	return len(all) > 0
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
		k.log.Error("the plugins seen first could not be pinned", "lock", k.lock.Place(), "error", err)
		return
	}
	k.changed() // they are pinned: they serve until bytes that are approved later are loaded
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
		switch {
		case err != nil && l.Store() != nil && !l.Unsaved(name): // the error is that of another plugin
			return nil
		case err != nil && l.Store() != nil: // another host may pin other bytes meanwhile
			return &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf("plugin %q is held until its bytes are pinned: %v", name, err)}
		case err != nil && ctx.Err() == nil: // an unwritable state folder must not block calls
			k.log.Error("a plugin runs that could not be pinned", "plugin", name, "lock", l.Place(), "error", err)
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
	err = k.lock.Update(k.life.stop, name, pin.Digest, next)
	if errors.Is(err, lock.ErrMoved) || errors.Is(err, lock.ErrRefused) {
		return false, nil // the operator was first
	}
	return err == nil, err
}
