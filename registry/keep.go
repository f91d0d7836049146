package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// keepDelay is how long bytes that were seen first at the start are left alone before they are copied: whoever starts
// the host waits for a list of tools, and a folder may have hundreds of megabytes. Later ones are copied at once.
const keepDelay = 300 * time.Millisecond

// keepAtEnd is how long Close waits for bytes to be kept: a client that only looks whether the host answers ends it soon.
const keepAtEnd = 2 * time.Second

// keeper keeps approved bytes, one file after the other, and writes the lock file when none is left.
type keeper struct {
	over atomic.Bool     // the host ends: no more are kept
	mu   sync.Mutex      // of whoever is at work
	seen map[string]bool // by name and digest, what was begun; Registry.mu guards it
	open int             // what was begun and has not ended; Registry.mu guards it
	soon bool            // the start is over; Registry.mu guards it
}

// keep has the bytes of an approved plan kept, and its pin written, in the background. r.mu must be held.
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
		case <-r.stop.Done(): // which leaves a little time, see Close
		case <-time.After(delay):
		}
		r.keeper.mu.Lock()
		defer r.keeper.mu.Unlock()
		if r.keeper.over.Load() {
			return // the next run does it
		}
		if err := r.keepBytes(name, m, terms); err != nil {
			r.log.Warn("the bytes of a plugin are not kept, so they are not pinned", "plugin", name, "error", err)
		}
	})
}

// keepBytes reads the bytes of a module once more.
func (r *Registry) keepBytes(name string, m *module.Module, terms lock.Terms) error {
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

// savePins writes the lock file when nothing is left to be kept.
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

// admission pins the bytes of a plan that is seen first before its first call: its grants belong to the bytes that had
// them first, also if this host is killed a moment later. nil is that they are pinned. r.mu must be held.
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
		if err != nil && ctx.Err() == nil { // a state folder that cannot be written holds nothing up
			r.log.Error("a plugin runs that could not be pinned", "plugin", name, "file", l.File(), "error", err)
			return nil
		}
		return err
	}
}

// bytesOf reads the bytes of a module again: from its file, or those that were kept.
func (r *Registry) bytesOf(m *module.Module) ([]byte, error) {
	wasm, _, err := stamp.Read(m.Path)
	if err == nil && stamp.Digest(wasm) == m.Digest {
		return wasm, nil
	}
	if l := r.opts.Lock; l != nil && l.Keeps(m.Digest) {
		if kept, _, err := stamp.Read(l.KeptFile(m.Digest)); err == nil && stamp.Digest(kept) == m.Digest {
			return kept, nil
		}
	}
	return nil, errors.Join(module.ErrReplaced, err)
}

// importsOf lists what a module imports, sorted, each once.
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

// compare approves bytes that wait, if they import, want and offer what the approved ones do: the operator
// said so beforehand. r.mu must be held.
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

func (r *Registry) takeSame(name, file string, pin lock.Pin, m *module.Module, terms lock.Terms) (bool, error) {
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
