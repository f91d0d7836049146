package registry

import (
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// codeOf returns the implementation of a document's plugin.
func codeOf(d *document.Document) *plugin.Code {
	return &plugin.Code{Manifest: d.Manifest, Serve: d.Serve, Skill: d.Skill}
}

// trustText decides which bytes of a document may serve. A document that was never approved serves as it is, even after
// a change: most often it is the operator's own. An approved document is held when it changes, and the approved bytes
// serve in its place. r.mu must be held.
func (r *Registry) trustText(p *plan) {
	l, digest := r.opts.Lock, p.text.Digest
	pin, _ := l.Pin(p.name)
	p.pin = &pin
	if want := p.config.Digest; want != "" && want != digest {
		p.waits, p.waiting = digest, fmt.Sprintf("its bytes are %s, and digest: of the settings names %s: put that file there, or change the line", digest, want)
		p.text, p.code, p.held = nil, nil, errors.New(p.waiting)
		return
	} else if want != "" {
		return
	}
	switch {
	case pin.Digest == digest:
		l.Keeps(digest) // marks it as used
		return
	case pin.Digest == "" && !l.Locked() && !pin.Refused(digest):
		return
	}
	p.waits, p.waiting = digest, r.waiting(p.name, pin, digest)
	if p.text = r.approvedText(p, pin.Digest); p.text == nil {
		p.code, p.held = nil, errors.New(p.waiting)
		return
	}
	p.code = codeOf(p.text)
}

// approvedText returns the approved document: the serving one, or the stored copy; nil if there is none.
func (r *Registry) approvedText(p *plan, digest string) *document.Document {
	if home := r.plugins[p.key()]; home != nil && home.now != nil && home.now.text != nil && home.now.text.Digest == digest {
		return home.now.text
	}
	l := r.opts.Lock
	if !l.Keeps(digest) {
		return nil
	}
	raw, _, err := fileid.Read(l.KeptFile(digest))
	if err != nil || fileid.Digest(raw) != digest {
		return nil
	}
	d, err := document.Parse(raw, p.path)
	if err != nil {
		return nil
	}
	return d
}

// agreed returns the terms and the bytes that an approval of a plan's current file covers. They must not be modified.
func (r *Registry) agreed(p *plan) (t lock.Terms, raw []byte, err error) {
	if text := p.file.text; text != nil {
		raw, _, err = fileid.Read(p.path)
		if err == nil && fileid.Digest(raw) != text.Digest {
			err = errors.New("the file is being changed: try again")
		}
		return text.Terms(), raw, err
	}
	if raw, err = r.bytesOf(p.file.module); err != nil {
		return t, nil, err
	}
	t = p.terms(p.file.module, p.newest())
	t.Imports, err = importsOf(raw)
	return t, raw, err
}
