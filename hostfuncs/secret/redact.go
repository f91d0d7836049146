package secret

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// shortest is the length in bytes from which on a value is looked for: a shorter one would be found in
// text that has nothing to do with it.
const shortest = 12

// Value is a secret with its name.
type Value struct {
	Name string
	Text string
}

// Redactor replaces values by [secret:NAME]. It is immutable and safe for concurrent use; a nil one
// replaces nothing.
type Redactor struct {
	needles []needle // the longest first
	longest int
}

type needle struct {
	text, instead []byte
}

// NewRedactor returns a redactor of values; those shorter than 12 bytes are left alone. It is nil if
// there are none.
func NewRedactor(values ...Value) *Redactor {
	r := &Redactor{}
	for _, v := range values {
		if len(v.Text) < shortest {
			continue
		}
		for _, text := range encodings(v.Text) {
			r.needles = append(r.needles, needle{[]byte(text), []byte("[secret:" + v.Name + "]")})
			r.longest = max(r.longest, len(text))
		}
	}
	if len(r.needles) == 0 {
		return nil
	}
	slices.SortStableFunc(r.needles, func(a, b needle) int { return len(b.text) - len(a.text) })
	return r
}

// find returns where the first value in text is, of two at one place the longer; nil if there is none.
func (r *Redactor) find(text []byte) (at int, found *needle) {
	at = len(text)
	for i := range r.needles {
		n := &r.needles[i]
		// What begins later than what is found already does not matter.
		if j := bytes.Index(text[:min(len(text), at+len(n.text)-1)], n.text); j >= 0 && j < at {
			at, found = j, n
		}
	}
	return at, found
}

// Text returns text without values; it is text itself if there are none in it.
func (r *Redactor) Text(text []byte) []byte {
	if r == nil {
		return text
	}
	at, found := r.find(text)
	if found == nil {
		return text
	}
	var out []byte
	for rest := text; ; {
		out = append(append(out, rest[:at]...), found.instead...)
		rest = rest[at+len(found.text):]
		if at, found = r.find(rest); found == nil {
			return append(out, rest...)
		}
	}
}

// String is Text for strings.
func (r *Redactor) String(text string) string {
	if r == nil || text == "" {
		return text
	}
	if out := r.Text([]byte(text)); len(out) != len(text) || string(out) != text {
		return string(out)
	}
	return text
}

// held is how many bytes at the end of text could be the beginning of a value.
func (r *Redactor) held(text []byte) int {
	for n := min(len(text), r.longest-1); n > 0; n-- {
		tail := text[len(text)-n:]
		if slices.ContainsFunc(r.needles, func(d needle) bool { return len(d.text) > n && bytes.HasPrefix(d.text, tail) }) {
			return n
		}
	}
	return 0
}

// Reader returns a reader of what from says without values, also where one comes in several reads. It
// keeps back only what could still become a value. Closing it closes from. A nil redactor returns from.
func (r *Redactor) Reader(from io.ReadCloser) io.ReadCloser {
	if r == nil {
		return from
	}
	return &reader{Redactor: r, from: from, buf: make([]byte, 0, 4096+r.longest)}
}

// reader redacts a stream.
type reader struct {
	*Redactor
	from  io.ReadCloser
	buf   []byte // read and not looked through
	ready []byte // to be given out
	err   error  // of from, after ready and buf
}

// Read reads on.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// fill reads once, and moves what can be given out.
func (r *reader) fill() {
	if cap(r.buf)-len(r.buf) < 1024 {
		r.buf = slices.Grow(r.buf, 4096)
	}
	n, err := r.from.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	hold := 0
	if err == nil {
		hold = r.held(r.buf)
	}
	// A value may end inside what could begin another: it is taken out before the rest is kept.
	var out []byte
	rest := r.buf
	for {
		at, found := r.find(rest)
		if found == nil || err == nil && at >= len(rest)-hold {
			break
		}
		out = append(append(out, rest[:at]...), found.instead...)
		if rest = rest[at+len(found.text):]; err == nil {
			hold = r.held(rest)
		}
	}
	out = append(out, rest[:len(rest)-hold]...)
	r.ready = out
	r.buf = append(r.buf[:0], rest[len(rest)-hold:]...)
}

// Close closes what is read from.
func (r *reader) Close() error { return r.from.Close() }

// ValidName reports whether a secret can be called so: letters, digits, and _ . - between them.
func ValidName(name string) bool {
	return name != "" && len(name) <= 128 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
