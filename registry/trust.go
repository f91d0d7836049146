package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// trust decides which bytes of a plan may serve: those approved under its name, or those seen first. Others are held,
// and the approved ones serve in their place. r.mu must be held.
func (r *Registry) trust(p *plan) {
	l := r.opts.Lock
	if l == nil || p.rival || p.config.Disabled || p.config.Updates == UpdatesDev && p.config.Digest == "" {
		return
	}
	switch {
	case p.err != nil:
		r.serveApproved(p, fmt.Sprintf("the new bytes cannot serve, and the approved ones do: %v", p.err))
	case p.held != nil:
		r.serveApproved(p, fmt.Sprintf("the new bytes are held, and the approved ones serve: %v", p.held))
	case p.module == nil && p.code == nil && p.file != nil && p.file.err != nil:
		r.serveApproved(p, "")
	case p.text != nil:
		r.trustText(p)
	case p.code == nil && p.module != nil:
		r.trustModule(p)
	}
}

func (r *Registry) trustModule(p *plan) {
	l, m := r.opts.Lock, p.module
	hashes := p.hashes(m, p.told)
	seen := lock.Pin{File: filepath.Base(p.path), Folder: filepath.Dir(p.path), Digest: m.Digest, Wants: p.wants(m, p.told), Definitions: hashes}
	switch want := p.config.Digest; {
	case want != "" && want != m.Digest:
		p.pin = r.namedPin(p, want)
		r.holdBack(p, fmt.Sprintf("its bytes are %s, and digest: of the settings names %s: put that file there, or change the line", m.Digest, want))
		return
	case want != "": // the pin is ignored: other settings may give that name a different digest
		l.Trust(p.name, seen)
		p.pin = &seen
		return
	}
	l.Trust(p.name, seen)
	pin, _ := l.Pin(p.name)
	p.pin = &pin
	switch {
	case pin.Digest != m.Digest:
		r.holdBack(p, r.waiting(p.name, pin, m.Digest))
	case hashes[lock.Manifest] != pin.Definitions[lock.Manifest]: // a new one, a changed one, or none any more
		p.waits, p.waiting = m.Digest, fmt.Sprintf("the values and wants of its manifest differ from the approved ones; %s shows the difference", r.approveCommand(p.name))
		if !r.tellApproved(p) {
			p.held = errors.New(p.waiting)
		}
	}
}

// namedPin returns the pin of a digest that the settings name and the file does not have.
func (r *Registry) namedPin(p *plan, digest string) *lock.Pin {
	if pin, _ := r.opts.Lock.Pin(p.name); pin.Digest == digest {
		return &pin
	}
	pin := lock.Pin{Digest: digest}
	if t, err := r.opts.Lock.Terms(digest); err == nil {
		pin = t.Pin(p.path)
	}
	return &pin
}

// holdBack holds the bytes of a plan; the approved ones serve in their place if they are available.
func (r *Registry) holdBack(p *plan, why string) {
	p.waits, p.waiting = p.module.Digest, why
	m, loading := r.approved(p, *p.pin)
	if p.module = m; m != nil && !r.tellApproved(p) {
		p.module = nil
	}
	if p.module == nil && !loading {
		p.held = errors.New(p.waiting)
	}
}

// serveApproved lets the approved bytes serve in place of unusable ones: a file that is half copied, for example, or a
// manifest with a new module. why is the status text, where the file's own error does not explain it.
func (r *Registry) serveApproved(p *plan, why string) {
	pin, _ := r.opts.Lock.Pin(p.name)
	if pin.Digest == "" || p.config.Digest != "" && p.config.Digest != pin.Digest {
		return
	}
	p.pin = &pin
	if document.Is(p.path) {
		if p.text = r.approvedText(p, pin.Digest); p.text != nil {
			p.code = codeOf(p.text)
		}
		return
	}
	if p.module, _ = r.approved(p, pin); p.module == nil {
		return
	}
	if !r.tellApproved(p) {
		p.module = nil
		return
	}
	p.err, p.held, p.waiting = nil, nil, why
}

// tellApproved applies the values of the approved manifest, or of none, to a plan; false if they were not stored.
func (r *Registry) tellApproved(p *plan) bool {
	hash := p.pin.Definitions[lock.Manifest]
	switch {
	case hash == p.hashes(p.module, p.told)[lock.Manifest]:
		return true
	case hash == "":
		p.told, p.config = nil, p.own
		return true
	}
	raw, err := r.opts.Lock.KeptManifest(hash)
	if err != nil {
		return false
	}
	var s said
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	p.told = &extismfile.Manifest{Config: s.Config, Wants: s.Wants, Memory: s.Memory, Timeout: s.Timeout}
	p.config = r.narrowed(p.own, p.told)
	return true
}

// waiting returns why bytes do not serve, and the command to type.
func (r *Registry) waiting(name string, pin lock.Pin, digest string) string {
	approve := r.approveCommand(name)
	switch {
	case pin.Refused(digest) && pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) were rejected, and the approved ones serve; %s asks again", short(digest), approve)
	case pin.Refused(digest):
		return fmt.Sprintf("these bytes (%s) were rejected; %s asks again", short(digest), approve)
	case pin.Digest != "" && !r.opts.Lock.Keeps(pin.Digest):
		return fmt.Sprintf("the file's bytes (%s) are held: others (%s%s) were approved under this name, and are not kept any more; %s shows the difference",
			short(digest), short(pin.Digest), r.elsewhere(pin), approve)
	case pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) are held, and the approved ones (%s%s) serve; %s shows the difference",
			short(digest), short(pin.Digest), r.elsewhere(pin), approve)
	}
	return fmt.Sprintf("it is not in the lock file, and nothing else may serve; %s shows it", approve)
}

// elsewhere returns the former path of a pinned file if that is in a different folder.
func (r *Registry) elsewhere(pin lock.Pin) string {
	if pin.Folder == "" || pin.Folder == r.opts.Dir {
		return ""
	}
	return ", from " + filepath.Join(pin.Folder, pin.File)
}

// approveCommand returns the command with which the operator reviews and approves a held plugin.
func (r *Registry) approveCommand(name string) string {
	if r.opts.Typed == "" {
		return "sallyport approve " + name
	}
	return "sallyport approve " + name + " " + r.opts.Typed
}

// short abbreviates a digest.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// approved returns the approved module: from the stored copy, or the serving one. loading is set if the stored copy is
// yet to be read.
func (r *Registry) approved(p *plan, pin lock.Pin) (m *plugin.Module, loading bool) {
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

// pinned returns the hashes of the approved definitions, possibly empty; nil if none need approval.
func (p *plan) pinned() map[string]string {
	if p.pin == nil {
		return nil
	}
	if p.pin.Definitions == nil {
		return map[string]string{}
	}
	return p.pin.Definitions
}

// terms returns the terms of a module of this plan under a manifest, without its imports.
func (p *plan) terms(m *plugin.Module, told *extismfile.Manifest) lock.Terms {
	t := lock.Terms{Digest: m.Digest, Wants: p.wants(m, told), Definitions: m.Manifest.Definitions()}
	if said := saidBy(told); said != nil {
		t.Definitions[lock.Manifest] = said
	}
	return t
}

// newest returns the current manifest; nil for none.
func (p *plan) newest() *extismfile.Manifest {
	if p.extism == nil || p.extism.extism == nil {
		return nil
	}
	return p.extism.extism.Manifest
}

// said is the approved part of an Extism manifest: with other values the same bytes behave differently.
type said struct {
	Config  map[string]string `json:"config"`
	Wants   []json.RawMessage `json:"wants"`
	Memory  uint64            `json:"memory,omitempty"`
	Timeout time.Duration     `json:"timeout,omitempty"`
}

// saidBy encodes the approved part of a manifest; nil if it is empty.
func saidBy(m *extismfile.Manifest) json.RawMessage {
	if m == nil || len(m.Config)+len(m.Wants) == 0 && m.Memory == 0 && m.Timeout == 0 {
		return nil
	}
	raw, err := json.Marshal(said{m.Config, m.Wants, m.Memory, m.Timeout})
	if err != nil {
		return nil // cannot fail: strings, numbers, and JSON that was made here
	}
	return raw
}

// hashes returns the definition hashes of terms.
func (p *plan) hashes(m *plugin.Module, told *extismfile.Manifest) map[string]string {
	said := saidBy(told)
	if said == nil {
		return m.Hashes()
	}
	all := maps.Clone(m.Hashes())
	all[lock.Manifest] = lock.Hash(said)
	return all
}

// wants returns the wants of a plugin and of the manifest that names it.
func (p *plan) wants(m *plugin.Module, told *extismfile.Manifest) []json.RawMessage {
	if told == nil {
		return m.Manifest.Wants
	}
	return slices.Concat(m.Manifest.Wants, told.Wants)
}

// pinnedFile reports whether a file was approved under a name.
func (r *Registry) pinnedFile(name, path string) bool {
	if r.opts.Lock == nil {
		return false
	}
	pin, ok := r.opts.Lock.Pin(name)
	return ok && pin.Digest != "" && pin.File == filepath.Base(path) && !r.wouldPin(name)
}

// wouldPin reports whether the pin of a name is provisional, since this host does not write the lock: it was never
// approved.
func (r *Registry) wouldPin(name string) bool {
	l := r.opts.Lock
	return l.ReadOnly() && l.Unwritten(name)
}

// approvedFile returns the plan of a name with the approved file; nil if there is none, or two.
func (r *Registry) approvedFile(same []*plan) (found *plan) {
	for _, p := range same {
		if p.path == "" || !r.pinnedFile(p.name, p.path) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

// needKept records the stored copies that plans serve from, and reports whether one of them is yet to be loaded. It
// also starts copies of approved bytes that exist only in the plugin's own file. r.mu must be held.
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
		if p.waits != "" && p.config.Updates == UpdatesSame && p.file != nil && p.file.module != nil && p.sameFile() {
			r.compare(p)
		}
	}
	return look
}

// sameFile reports whether the file of a plan is the approved one, not one of the same name in a different folder:
// updates apply to the approved file only.
func (p *plan) sameFile() bool {
	return p.pin != nil && p.config.Digest == "" && p.pin.File == filepath.Base(p.path) && (p.pin.Folder == "" || p.pin.Folder == filepath.Dir(p.path))
}

// Relock reads the lock file again if it has changed, and applies new approvals. On error nothing changes.
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
