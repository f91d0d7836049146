package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Review is a plugin that waits for an operator's decision.
type Review struct {
	Name     string
	File     string     // base name of the plugin's file
	Before   lock.Terms // the approved terms; without a digest if there are none
	After    lock.Terms // the current terms
	Rejected bool       // these bytes were rejected before

	// Values are the configuration of its Extism manifest; nil without one.
	Values map[string]string

	raw    []byte // contents of the file
	before []byte // the approved contents; nil if they are not stored
	path   string
	origin *lock.Origin
}

// Placed returns the review for a file that will be at path, and the origin of its bytes.
func (v *Review) Placed(path string, origin lock.Origin) *Review {
	w := *v
	w.path, w.File, w.origin = path, filepath.Base(path), &origin
	return &w
}

// Bytes returns the new bytes of the plugin.
func (v *Review) Bytes() []byte { return v.raw }

// Sources returns the differences between the sources of a script; nil for other plugins.
func (v *Review) Sources() []script.FileChange {
	after := sourcesOf(v.raw)
	if after == nil {
		return nil
	}
	return script.Difference(sourcesOf(v.before), after)
}

// sourcesOf returns the sources in a container; nil for other bytes.
func sourcesOf(raw []byte) *script.Source {
	b, err := wasmbin.Read(raw)
	if err != nil {
		return nil
	}
	s, _ := script.SourceOf(b)
	return s
}

// ErrNothingWaits is returned if there is nothing to review.
var ErrNothingWaits = errors.New("nothing waits for an answer")

// ErrNoPlugin is returned for an unknown plugin name.
var ErrNoPlugin = errors.New("there is no plugin")

// Review returns the decision that an operator has to make about a plugin: the terms of the current bytes of its file,
// beside the approved ones.
func (r *Registry) Review(name string) (*Review, error) {
	p, err := r.waitingPlan(name)
	if err != nil {
		return nil, err
	}
	l := r.approvals.lock
	pin, _ := l.Pin(name)
	v := &Review{Name: name, File: filepath.Base(p.path), Values: p.config.Values, path: p.path}
	if v.After, v.raw, err = r.approvals.newestTerms(p); err != nil {
		return nil, err
	}
	v.before = approvedBytes(l, pin)
	v.Rejected, v.Before = pin.Refused(v.After.Digest), approvedTerms(l, pin, v.After)
	if after := v.After.Pin(v.path); pin.Digest == v.After.Digest && after.SameInterface(pin) {
		return nil, fmt.Errorf("plugin %q: %w: its file is the one that was approved", name, ErrNothingWaits)
	}
	return v, nil
}

// waitingPlan returns the most urgent plan of a plugin, or why nothing waits.
func (r *Registry) waitingPlan(name string) (*plan, error) {
	found := r.assembler.mostUrgent(name)
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w %q", ErrNoPlugin, name)
	case found.err != nil:
		return nil, fmt.Errorf("plugin %q: %w", name, found.err)
	case found.config.Digest != "" && found.pending != "":
		return nil, fmt.Errorf("plugin %q: %s", name, found.pendingReason)
	case found.pin == nil && found.held != nil && !found.rival:
		return nil, fmt.Errorf("plugin %q: %w", name, found.held)
	case found.pin == nil && !found.rival || found.file == nil || found.file.module == nil && found.file.text == nil:
		return nil, fmt.Errorf("plugin %q: %w", name, ErrNothingWaits)
	}
	return found, nil
}

// urgent ranks the plans of one name by their need for a decision.
func (p *plan) urgent() int {
	switch {
	case p.pin != nil && p.pending != "":
		return 3
	case p.rival:
		return 2
	case p.pin != nil:
		return 1
	}
	return 0
}

// approvedBytes returns the stored copy of approved bytes; nil if there is none.
func approvedBytes(l *lock.Lock, pin lock.Pin) []byte {
	if !l.Copies.Has(pin.Digest) {
		return nil
	}
	raw, _, err := fileid.Read(l.Copies.Path(pin.Digest))
	if err != nil || fileid.Digest(raw) != pin.Digest {
		return nil
	}
	return raw
}

// approvedTerms returns the approved terms as far as they were stored: a definition without stored text is represented
// by its hash.
func approvedTerms(l *lock.Lock, pin lock.Pin, after lock.Terms) lock.Terms {
	t := lock.Terms{Digest: pin.Digest, Imports: pin.Imports, Wants: pin.Wants, Definitions: map[string]json.RawMessage{}}
	kept, err := l.Copies.Terms(pin.Digest)
	for name, hash := range pin.Definitions {
		switch {
		case lock.Hash(after.Definitions[name]) == hash:
			t.Definitions[name] = after.Definitions[name]
		case err == nil && lock.Hash(kept.Definitions[name]) == hash:
			t.Definitions[name] = kept.Definitions[name]
		default:
			t.Definitions[name] = jsonraw.AppendString(nil, hash)
		}
	}
	return t
}

// Approve records the operator's approval of the reviewed bytes in a lock.
func (v *Review) Approve(ctx context.Context, l *lock.Lock) error {
	if err := l.Copies.Put(v.raw, v.After); err != nil {
		return err
	}
	pin := v.After.Pin(v.path)
	pin.Origin = v.origin
	return l.Approve(ctx, v.Name, v.Before.Digest, pin)
}
