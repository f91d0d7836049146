package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// approver decides which bytes of a plan may serve: those approved under its name, or those seen first. Others are held,
// and the approved ones serve in their place.
type approver struct {
	approvals
	files    fileTable
	serving  slots
	defaults runtime.Limits
}

// decide sets the contents and the approval of a plan.
func (a *approver) decide(p *plan) {
	if a.lock == nil || p.rival || p.config.Disabled || p.config.Updates == UpdatesDev && p.config.Digest == "" {
		return
	}
	switch {
	case p.err != nil:
		a.serveApproved(p, fmt.Sprintf("the new bytes cannot serve, and the approved ones do: %v", p.err))
	case p.held != nil:
		a.serveApproved(p, fmt.Sprintf("the new bytes are held, and the approved ones serve: %v", p.held))
	case p.module == nil && p.code == nil && p.file != nil && p.file.err != nil:
		a.serveApproved(p, "")
	case p.text != nil:
		a.decideText(p)
	case p.code == nil && p.module != nil:
		a.decideModule(p)
	}
}

// decideModule decides about the newest module of a plan.
func (a *approver) decideModule(p *plan) {
	m := p.module
	hashes := p.hashes()
	seen := lock.Pin{File: filepath.Base(p.path), Folder: filepath.Dir(p.path), Digest: m.Digest, Wants: p.wants(), Definitions: hashes}
	switch want := p.config.Digest; {
	case want != "" && want != m.Digest:
		p.pin = a.named(p, want)
		a.holdBack(p, notNamed(m.Digest, want))
		return
	case want != "": // the pin is ignored: other settings may give that name a different digest
		a.lock.Trust(p.name, seen)
		p.pin = &seen
		return
	}
	a.lock.Trust(p.name, seen)
	pin, _ := a.lock.Pin(p.name)
	p.pin = &pin
	switch {
	case pin.Digest != m.Digest:
		a.holdBack(p, a.pendingReason(p.name, pin, m.Digest))
	case hashes[lock.Manifest] != pin.Definitions[lock.Manifest]: // a new one, a changed one, or none any more
		p.pending, p.pendingReason = m.Digest, fmt.Sprintf("the values and wants of its manifest differ from the approved ones; %s shows the difference", a.command(p.name))
		if !a.applyApprovedManifest(p) {
			p.held = errors.New(p.pendingReason)
		}
	}
}

// decideText decides about the newest document of a plan. A document that was never approved serves as it is, even after
// a change: most often it is the operator's own. An approved document is held when it changes, and the approved bytes
// serve in its place.
func (a *approver) decideText(p *plan) {
	digest := p.text.Digest
	pin, _ := a.lock.Pin(p.name)
	p.pin = &pin
	if want := p.config.Digest; want != "" && want != digest {
		p.pending, p.pendingReason = digest, notNamed(digest, want)
		p.setText(nil)
		p.held = errors.New(p.pendingReason)
		return
	} else if want != "" {
		return
	}
	switch {
	case pin.Digest == digest:
		a.lock.Copies.Has(digest) // marks it as used
		return
	case pin.Digest == "" && !a.lock.Locked() && !pin.Refused(digest):
		return
	}
	p.pending, p.pendingReason = digest, a.pendingReason(p.name, pin, digest)
	if p.setText(a.approvedText(p, pin.Digest)); p.text == nil {
		p.held = errors.New(p.pendingReason)
	}
}

// holdBack holds the bytes of a plan; the approved ones serve in their place if they are available.
func (a *approver) holdBack(p *plan, why string) {
	p.pending, p.pendingReason = p.module.Digest, why
	m, loading := a.approved(p, *p.pin)
	if p.module = m; m != nil && !a.applyApprovedManifest(p) {
		p.module = nil
	}
	if p.loading = loading; p.module == nil && !loading {
		p.held = errors.New(p.pendingReason)
	}
}

// serveApproved lets the approved bytes serve in place of unusable ones: a file that is half copied, for example, or a
// manifest with a new module. why is the status text, where the file's own error does not explain it.
func (a *approver) serveApproved(p *plan, why string) {
	pin, _ := a.lock.Pin(p.name)
	if pin.Digest == "" || p.config.Digest != "" && p.config.Digest != pin.Digest {
		return
	}
	p.pin = &pin
	if document.Is(p.path) {
		if p.text = a.approvedText(p, pin.Digest); p.text != nil {
			p.setText(p.text)
		}
		return
	}
	if p.module, _ = a.approved(p, pin); p.module == nil {
		return
	}
	if !a.applyApprovedManifest(p) {
		p.module = nil
		return
	}
	p.err, p.held, p.pendingReason = nil, nil, why
}

// applyApprovedManifest applies the values of the approved manifest, or of none, to a plan; false if they were not stored.
func (a *approver) applyApprovedManifest(p *plan) bool {
	hash := p.pin.Definitions[lock.Manifest]
	switch {
	case hash == p.hashes()[lock.Manifest]:
		return true
	case hash == "":
		p.extism, p.config = nil, p.own
		return true
	}
	raw, err := a.lock.Copies.Manifest(hash)
	if err != nil {
		return false
	}
	var terms extismTerms
	if json.Unmarshal(raw, &terms) != nil {
		return false
	}
	p.extism = &extismfile.Manifest{Config: terms.Config, Wants: terms.Wants, Memory: terms.Memory, Timeout: terms.Timeout}
	p.config = p.own.narrowed(p.extism, a.defaults)
	return true
}

// approved returns the approved module: from the stored copy, or the serving one. loading is set if the stored copy is
// yet to be read.
func (a *approver) approved(p *plan, pin lock.Pin) (m *plugin.Module, loading bool) {
	if a.lock.Copies.Has(pin.Digest) {
		p.copy = a.lock.Copies.Path(pin.Digest)
		f := a.files[p.copy]
		loading = f == nil || f.module == nil && f.err == nil
		if f != nil && f.module != nil && f.module.Digest == pin.Digest {
			return f.module, false
		}
	}
	if s := a.serving[p.key()]; s != nil {
		if g := s.now; g.module != nil && g.module.Digest == pin.Digest {
			return g.module, false
		}
	}
	return nil, loading
}

// approvedText returns the approved document: the serving one, or the stored copy; nil if there is none.
func (a *approver) approvedText(p *plan, digest string) *document.Document {
	if s := a.serving[p.key()]; s != nil && s.now != nil && s.now.text != nil && s.now.text.Digest == digest {
		return s.now.text
	}
	if !a.lock.Copies.Has(digest) {
		return nil
	}
	raw, _, err := fileid.Read(a.lock.Copies.Path(digest))
	if err != nil || fileid.Digest(raw) != digest {
		return nil
	}
	d, err := document.Parse(raw, p.path)
	if err != nil {
		return nil
	}
	return d
}
