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
	"github.com/sallyport-mcp/sallyport/registry/module"
)

// trust decides which bytes of a plan may serve: those that were approved under its name, or those that are
// seen first. Others are held, and the approved ones serve in their place. r.mu must be held.
func (r *Registry) trust(p *plan) {
	l := r.opts.Lock
	if l == nil || p.rival || p.config.Disabled || p.config.Updates == UpdatesDev && p.config.Digest == "" {
		return
	}
	switch {
	case p.err != nil:
		r.serveApproved(p, fmt.Sprintf("what is there now cannot serve, and what was approved does: %v", p.err))
	case p.held != nil:
		r.serveApproved(p, fmt.Sprintf("what is there now is held, and what was approved serves: %v", p.held))
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
	case want != "": // whatever is pinned: other settings may say something else of that name
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
	case hashes[lock.Manifest] != pin.Definitions[lock.Manifest]: // a new one, another, or none any more
		p.waits, p.waiting = m.Digest, fmt.Sprintf("what its manifest gives it and asks for is not what was approved; %s shows the difference", r.approveCommand(p.name))
		if !r.tellApproved(p) {
			p.held = errors.New(p.waiting)
		}
	}
}

// namedPin is the pin of bytes that the settings name and that are not there.
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

// holdBack holds the bytes of a plan, and has the approved ones serve in their place if they are there.
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

// serveApproved has the approved bytes serve where there are none: for half of a file that is being copied, say, or for a
// manifest that names something else now. Why is what there is to say of that, where the file itself does not say it.
func (r *Registry) serveApproved(p *plan, why string) {
	pin, _ := r.opts.Lock.Pin(p.name)
	if pin.Digest == "" || p.config.Digest != "" && p.config.Digest != pin.Digest {
		return
	}
	p.pin = &pin
	if document.Is(p.path) {
		if p.text = r.approvedText(p, pin.Digest); p.text != nil {
			p.code = p.text.Code
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

// tellApproved gives a plan the values of the manifest that was approved, or of none; false if it is not known any more.
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

// waiting says why bytes do not serve, and what to type.
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
	return fmt.Sprintf("it is not in the lock file, and nothing else may serve; %s shows what it is", approve)
}

// elsewhere says where a pinned file was, if that is another folder.
func (r *Registry) elsewhere(pin lock.Pin) string {
	if pin.Folder == "" || pin.Folder == r.opts.Dir {
		return ""
	}
	return ", from " + filepath.Join(pin.Folder, pin.File)
}

// approveCommand is what a person types to see and to approve a plugin that is held here.
func (r *Registry) approveCommand(name string) string {
	if r.opts.Typed == "" {
		return "sallyport approve " + name
	}
	return "sallyport approve " + name + " " + r.opts.Typed
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

// terms are those an operator agrees to with a module of this plan under a manifest, without its imports.
func (p *plan) terms(m *module.Module, told *extismfile.Manifest) lock.Terms {
	t := lock.Terms{Digest: m.Digest, Wants: p.wants(m, told), Definitions: m.Manifest.Definitions()}
	if said := saidBy(told); said != nil {
		t.Definitions[lock.Manifest] = said
	}
	return t
}

// newest is the manifest that lies there now; nil for none.
func (p *plan) newest() *extismfile.Manifest {
	if p.extism == nil || p.extism.extism == nil {
		return nil
	}
	return p.extism.extism.Manifest
}

// said is all that an Extism manifest gives a plugin and asks for it: the same bytes do other things with other values.
type said struct {
	Config  map[string]string `json:"config"`
	Wants   []json.RawMessage `json:"wants"`
	Memory  uint64            `json:"memory,omitempty"`
	Timeout time.Duration     `json:"timeout,omitempty"`
}

// saidBy is what a manifest says; nil if that is nothing.
func saidBy(m *extismfile.Manifest) json.RawMessage {
	if m == nil || len(m.Config)+len(m.Wants) == 0 && m.Memory == 0 && m.Timeout == 0 {
		return nil
	}
	raw, err := json.Marshal(said{m.Config, m.Wants, m.Memory, m.Timeout})
	if err != nil {
		return nil // texts, numbers, and JSON that was made here
	}
	return raw
}

// hashes are those of terms.
func (p *plan) hashes(m *module.Module, told *extismfile.Manifest) map[string]string {
	said := saidBy(told)
	if said == nil {
		return m.Hashes()
	}
	all := maps.Clone(m.Hashes())
	all[lock.Manifest] = lock.Hash(said)
	return all
}

// wants is what a plugin asks for, with the wants of the manifest that names it.
func (p *plan) wants(m *module.Module, told *extismfile.Manifest) []json.RawMessage {
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

// wouldPin reports whether the pin of a name is only what a host that writes would pin: nobody has approved anything by it.
func (r *Registry) wouldPin(name string) bool {
	l := r.opts.Lock
	return l.ReadOnly() && l.Unwritten(name)
}

// approvedFile is the one among plans of a name whose file was approved under it; nil if there is none, or two.
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
		if p.waits != "" && p.config.Updates == UpdatesSame && p.file != nil && p.file.module != nil && p.sameFile() {
			r.compare(p)
		}
	}
	return look
}

// sameFile reports whether the file of a plan is the one that was approved, and not another one of its name in another
// folder: updates of the one are none of the other.
func (p *plan) sameFile() bool {
	return p.pin != nil && p.config.Digest == "" && p.pin.File == filepath.Base(p.path) && (p.pin.Folder == "" || p.pin.Folder == filepath.Dir(p.path))
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
