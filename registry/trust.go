package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/module"
)

// trust decides which bytes of a plan may serve: those that were approved under its name, or those that are
// seen first. Others are held, and the approved ones serve in their place. r.mu must be held.
func (r *Registry) trust(p *plan) {
	l := r.opts.Lock
	if l == nil || p.err != nil || p.held != nil || p.config.Disabled || p.config.Updates == UpdatesDev {
		return
	}
	if p.module == nil && p.code == nil && p.file != nil && p.file.err != nil {
		r.serveApproved(p)
		return
	}
	if p.text != nil {
		r.trustText(p)
	}
	if p.code != nil || p.module == nil {
		return
	}
	m, hashes := p.module, p.hashes(p.module)
	pin, _ := l.Pin(p.name)
	p.pin = &pin
	if pin.Digest != "" && hashes[manifestKey] != pin.Definitions[manifestKey] { // a new one, another, or none any more
		p.held = fmt.Errorf("what its manifest gives it and asks for is not what was approved; sallyport approve %s shows the difference", p.name)
		return
	}
	l.Trust(p.name, lock.Pin{File: filepath.Base(p.path), Digest: m.Digest, Wants: p.wants(m), Definitions: hashes})
	pin, _ = l.Pin(p.name)
	if pin.Digest == m.Digest {
		return
	}
	p.waits, p.waiting = m.Digest, waiting(p.name, pin, m.Digest)
	var loading bool
	if p.module, loading = r.approved(p, pin); p.module == nil && !loading {
		p.held = errors.New(p.waiting)
	}
}

// serveApproved has the approved bytes serve for a file that holds no plugin: half of one that is being copied, say.
func (r *Registry) serveApproved(p *plan) {
	pin, _ := r.opts.Lock.Pin(p.name)
	if pin.Digest == "" {
		return
	}
	p.pin = &pin
	if document.Is(p.path) {
		if p.text = r.approvedText(p, pin.Digest); p.text != nil {
			p.code = p.text.Code
		}
		return
	}
	if p.module, _ = r.approved(p, pin); p.module != nil && p.hashes(p.module)[manifestKey] != pin.Definitions[manifestKey] {
		p.module = nil
	}
}

// waiting says why bytes do not serve, and what to type.
func waiting(name string, pin lock.Pin, digest string) string {
	switch {
	case pin.Refused(digest) && pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) were rejected, and the approved ones serve; sallyport approve %s asks again", short(digest), name)
	case pin.Refused(digest):
		return fmt.Sprintf("these bytes (%s) were rejected; sallyport approve %s asks again", short(digest), name)
	case pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) are held, and the approved ones (%s) serve; sallyport approve %s shows the difference",
			short(digest), short(pin.Digest), name)
	}
	return fmt.Sprintf("it is not in the lock file, and nothing else may serve; sallyport approve %s shows what it is", name)
}

// short is the beginning of a digest, enough to tell two apart.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// approved finds the bytes that were approved: kept ones, or those that serve already. loading says that the
// kept ones are still to be read.
func (r *Registry) approved(p *plan, pin lock.Pin) (m *module.Module, loading bool) {
	if r.opts.Lock.Keeps(pin.Digest) {
		p.kept = r.opts.Lock.KeptFile(pin.Digest)
		f := r.files[p.kept]
		loading = f == nil || f.module == nil && f.err == nil
		if f != nil && f.module != nil && f.module.Digest == pin.Digest {
			return f.module, false
		}
	}
	if home := r.plugins[p.key()]; home != nil {
		if g := home.now; g.module != nil && g.module.Digest == pin.Digest {
			return g.module, false
		}
	}
	return nil, loading
}

// pinned are the hashes of the definitions that were approved, which may be none; nil: whatever they are.
func (p *plan) pinned() map[string]string {
	if p.pin == nil {
		return nil
	}
	if p.pin.Definitions == nil {
		return map[string]string{}
	}
	return p.pin.Definitions
}

// terms are what an operator agrees to with a module of this plan, but for what it imports.
func (p *plan) terms(m *module.Module) lock.Terms {
	t := lock.Terms{Digest: m.Digest, Wants: p.wants(m), Definitions: m.Manifest.Definitions()}
	if said := p.said(); said != nil {
		t.Definitions[manifestKey] = said
	}
	return t
}

// manifestKey is the definition of a plugin that is what its Extism manifest says: the same bytes do other things
// with other values. No key of a manifest's entries is one word.
const manifestKey = "manifest"

// said is what the Extism manifest of a plan gives the plugin and asks for it; nil if there is nothing.
func (p *plan) said() json.RawMessage {
	if p.extism == nil || p.extism.extism == nil {
		return nil
	}
	m := p.extism.extism.Manifest
	if len(m.Config)+len(m.Wants) == 0 {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"config": m.Config, "wants": m.Wants})
	if err != nil {
		return nil // texts, and JSON that was made here
	}
	return raw
}

// hashes are those of terms.
func (p *plan) hashes(m *module.Module) map[string]string {
	said := p.said()
	if said == nil {
		return m.Hashes()
	}
	all := maps.Clone(m.Hashes())
	all[manifestKey] = lock.Hash(said)
	return all
}

// wants is what a plugin asks for, with what the Extism manifest asks that names it.
func (p *plan) wants(m *module.Module) []json.RawMessage {
	if p.extism == nil || p.extism.extism == nil {
		return m.Manifest.Wants
	}
	return slices.Concat(m.Manifest.Wants, p.extism.extism.Manifest.Wants)
}

// approvedFile is the one among plans of a name whose file was approved under it; nil if there is none.
func (r *Registry) approvedFile(same []*plan) (found *plan) {
	if r.opts.Lock == nil {
		return nil
	}
	pin, ok := r.opts.Lock.Pin(same[0].name)
	for _, p := range same {
		if ok && pin.Digest != "" && pin.File == filepath.Base(p.path) {
			if found != nil {
				return nil
			}
			found = p
		}
	}
	return found
}

// needKept notes the files of approved bytes that plans serve from, and reports whether one of them is still to
// be loaded. It also has the bytes kept that are approved and lie only in the plugin's own file. r.mu must be
// held.
func (r *Registry) needKept(plans []*plan) (look bool) {
	r.kept = map[string]bool{}
	for _, p := range plans {
		switch {
		case p.kept != "":
			r.kept[p.kept] = true
			look = look || r.files[p.kept] == nil
		case p.pin != nil && p.held == nil && p.waits == "" && p.module != nil:
			r.keep(p)
		}
		if p.waits != "" && p.config.Updates == UpdatesSame && p.file != nil && p.file.module != nil {
			r.compare(p)
		}
	}
	return look
}

// Relock reads the lock file again if it has changed; what was approved meanwhile serves. With an error all
// stays as it was.
func (r *Registry) Relock() error {
	if r.opts.Lock == nil {
		return nil
	}
	changed, err := r.opts.Lock.Refresh()
	if changed {
		r.assemble()
	}
	return err
}
