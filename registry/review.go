package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// A Review is a plugin that waits for an operator's answer.
type Review struct {
	Name     string
	File     string     // the plugin's file, as it is called in its folder
	Before   lock.Terms // what was approved; without a digest: nothing was
	After    lock.Terms // what is there
	Rejected bool       // it was answered no before

	raw  []byte // of the file
	path string
}

// ErrNothingWaits is why there is nothing to review.
var ErrNothingWaits = errors.New("nothing waits for an answer")

// ErrNoPlugin is why a name means nothing.
var ErrNoPlugin = errors.New("there is no plugin")

// Review returns what an operator is asked about a plugin: the bytes that its file has now, beside those that
// were approved.
func (r *Registry) Review(name string) (*Review, error) {
	p, err := r.waitingPlan(name)
	if err != nil {
		return nil, err
	}
	l := r.opts.Lock
	pin, _ := l.Pin(name)
	v := &Review{Name: name, File: filepath.Base(p.path), path: p.path}
	if v.After, v.raw, err = r.agreed(p); err != nil {
		return nil, err
	}
	v.Rejected, v.Before = pin.Refused(v.After.Digest), approvedTerms(l, pin, v.After)
	if after := v.After.Pin(v.path); pin.Digest == v.After.Digest && after.SameInterface(pin) {
		return nil, fmt.Errorf("plugin %q: %w: its file is the one that was approved", name, ErrNothingWaits)
	}
	return v, nil
}

// waitingPlan finds the plan of a plugin by its name.
func (r *Registry) waitingPlan(name string) (*plan, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *plan
	for _, p := range r.plans() {
		if p.name == name && (found == nil || p.urgent() > found.urgent()) {
			found = p
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w %q", ErrNoPlugin, name)
	case found.err != nil:
		return nil, fmt.Errorf("plugin %q: %w", name, found.err)
	case found.config.Digest != "" && found.waits != "":
		return nil, fmt.Errorf("plugin %q: %s", name, found.waiting)
	case found.pin == nil && found.held != nil && !found.rival:
		return nil, fmt.Errorf("plugin %q: %w", name, found.held)
	case found.pin == nil && !found.rival || found.file == nil || found.file.module == nil && found.file.text == nil:
		return nil, fmt.Errorf("plugin %q: %w", name, ErrNothingWaits)
	}
	return found, nil
}

// urgent orders the plans of one name by how much they want an answer.
func (p *plan) urgent() int {
	switch {
	case p.pin != nil && p.waits != "":
		return 3
	case p.rival:
		return 2
	case p.pin != nil:
		return 1
	}
	return 0
}

// approvedTerms are what was approved, as far as it is known in words: a definition whose text was not kept is
// its hash.
func approvedTerms(l *lock.Lock, pin lock.Pin, after lock.Terms) lock.Terms {
	t := lock.Terms{Digest: pin.Digest, Imports: pin.Imports, Wants: pin.Wants, Definitions: map[string]json.RawMessage{}}
	kept, err := l.Terms(pin.Digest)
	for name, hash := range pin.Definitions {
		switch {
		case lock.Hash(after.Definitions[name]) == hash:
			t.Definitions[name] = after.Definitions[name]
		case err == nil && lock.Hash(kept.Definitions[name]) == hash:
			t.Definitions[name] = kept.Definitions[name]
		default:
			t.Definitions[name] = rawjson.AppendString(nil, hash)
		}
	}
	return t
}

// Approve records in a lock that an operator agrees to what was reviewed.
func (v *Review) Approve(ctx context.Context, l *lock.Lock) error {
	if err := l.Keep(v.raw, v.After); err != nil {
		return err
	}
	return l.Approve(ctx, v.Name, v.After.Pin(v.path))
}
