package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// keepDelay delays copies of the bytes first seen at the start: the client waits for its list of tools, and a folder
// may hold hundreds of megabytes. Later bytes are copied at once.
const keepDelay = 300 * time.Millisecond

// keepAtEnd limits how long Close waits for copies: a client that only probes the host ends it soon.
const keepAtEnd = 2 * time.Second

// keeper copies approved bytes to the lock's store, one file at a time, and writes the lock file after the last.
type keeper struct {
	over atomic.Bool     // the host ends: no further copies
	mu   sync.Mutex      // held during a copy
	seen map[string]bool // started copies and comparisons, by name and digest; guarded by Registry.mu
	open int             // copies that have not ended; guarded by Registry.mu
	soon bool            // the start is over; guarded by Registry.mu
}

// keep copies the bytes of an approved plan and writes its pin, in the background. r.mu must be held.
func (r *Registry) keep(p *plan) {
	l := r.opts.Lock
	key := p.name + "\x00" + p.module.Digest
	if r.keeper.seen[key] || p.pin.Imports != nil && l.KeepsAll(*p.pin) && !l.Unsaved(p.name) {
		return
	}
	if r.keeper.seen == nil {
		r.keeper.seen = map[string]bool{}
	}
	r.keeper.seen[key] = true
	r.keeper.open++
	m, terms, name := p.module, p.terms(p.module, p.told), p.name
	delay := keepDelay
	if r.keeper.soon {
		delay = 0
	}
	m.Retain()
	r.work.Go(func() {
		defer m.Release()
		defer r.savePins()
		select {
		case <-r.stop.Done(): // Close leaves time for this copy
		case <-time.After(delay):
		}
		r.keeper.mu.Lock()
		defer r.keeper.mu.Unlock()
		if r.keeper.over.Load() {
			return // left to the next run
		}
		if err := r.keepBytes(name, m, terms); err != nil {
			r.log.Warn("the bytes of a plugin are not kept, so they are not pinned", "plugin", name, "error", err)
		}
	})
}

// keepBytes reads the bytes of a module again, pins them and stores a copy.
func (r *Registry) keepBytes(name string, m *plugin.Module, terms lock.Terms) error {
	wasm, err := r.bytesOf(m)
	if err != nil {
		return err
	}
	if terms.Imports, err = importsOf(wasm); err != nil {
		return err
	}
	pin := terms.Pin("")
	r.opts.Lock.Trust(name, pin)
	if r.opts.Lock.KeepsAll(pin) {
		return nil
	}
	return r.opts.Lock.Keep(wasm, terms)
}

// savePins writes the lock file when no copy is pending.
func (r *Registry) savePins() {
	r.mu.Lock()
	r.keeper.open--
	last := r.keeper.open == 0
	r.mu.Unlock()
	if !last {
		return
	}
	if err := r.opts.Lock.Save(context.Background()); err != nil {
		r.log.Error("the plugins seen first could not be pinned", "file", r.opts.Lock.File(), "error", err)
	}
}

// admission returns a function that pins a first-seen plugin before its first call: grants belong to the bytes that had
// them first, even if this host is killed right after. It returns nil if they are pinned. r.mu must be held.
func (r *Registry) admission(p *plan) func(context.Context) error {
	l := r.opts.Lock
	if p.pin == nil || l == nil || l.ReadOnly() || !l.Unsaved(p.name) {
		return nil
	}
	name, m, terms := p.name, p.module, p.terms(p.module, p.told)
	return func(ctx context.Context) error {
		err := r.keepBytes(name, m, terms)
		if err == nil {
			err = l.Save(ctx)
		}
		if pin, _ := l.Pin(name); pin.Digest != m.Digest {
			r.work.Go(r.assemble)
			return &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf(
				"plugin %q is held: another host has pinned other bytes of that name, and sallyport list says which", name)}
		}
		if err != nil && ctx.Err() == nil { // an unwritable state folder must not block calls
			r.log.Error("a plugin runs that could not be pinned", "plugin", name, "file", l.File(), "error", err)
			return nil
		}
		return err
	}
}

// bytesOf reads the bytes of a module again: from its file, or from the stored copy.
func (r *Registry) bytesOf(m *plugin.Module) ([]byte, error) {
	wasm, _, err := fileid.Read(m.Path)
	if err == nil && fileid.Digest(wasm) == m.Digest {
		return wasm, nil
	}
	if l := r.opts.Lock; l != nil && l.Keeps(m.Digest) {
		if kept, _, err := fileid.Read(l.KeptFile(m.Digest)); err == nil && fileid.Digest(kept) == m.Digest {
			return kept, nil
		}
	}
	return nil, errors.Join(plugin.ErrReplaced, err)
}

// importsOf returns the imports of a module, sorted and without duplicates.
func importsOf(wasm []byte) ([]string, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	all := []string{}
	for _, i := range b.Imports {
		all = append(all, i.Module+"."+i.Name)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// compare approves waiting bytes that have the same imports, wants and entries as the approved ones, under UpdatesSame.
// r.mu must be held.
func (r *Registry) compare(p *plan) {
	m, name, pin := p.file.module, p.name, *p.pin
	key := name + "\x00" + m.Digest
	if r.keeper.seen[key] || pin.Digest == "" || pin.Refused(m.Digest) {
		return
	}
	if r.keeper.seen == nil {
		r.keeper.seen = map[string]bool{}
	}
	r.keeper.seen[key] = true
	terms, file := p.terms(m, p.newest()), p.path
	m.Retain()
	r.work.Go(func() {
		defer m.Release()
		same, err := r.takeSame(name, file, pin, m, terms)
		if err != nil {
			r.log.Warn("new bytes of a plugin could not be compared with the approved ones", "plugin", name, "error", err)
		}
		if same {
			r.log.Info("new bytes are approved: they import, want and offer the same", "plugin", name, "digest", m.Digest)
			r.assemble()
		}
	})
}

func (r *Registry) takeSame(name, file string, pin lock.Pin, m *plugin.Module, terms lock.Terms) (bool, error) {
	wasm, err := r.bytesOf(m)
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
	if err := r.opts.Lock.Keep(wasm, terms); err != nil {
		return false, err
	}
	return true, r.opts.Lock.Replace(r.stop, name, pin.Digest, next)
}
