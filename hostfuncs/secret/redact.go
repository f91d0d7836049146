package secret

import (
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
	// Instead is what stands in its place; empty is [secret:NAME].
	Instead string
}

// Redactor replaces values, by [secret:NAME] unless they say otherwise. It is immutable and safe for concurrent use; a nil
// one replaces nothing.
type Redactor struct {
	needles []needle
	begin   [256][]*needle // those that a byte may begin; of one that begins an escape all
	first   [256]bool      // bytes that one begins with
}

// NewRedactor returns a redactor of values; those shorter than 12 bytes are left alone. It is nil if
// there are none.
func NewRedactor(values ...Value) *Redactor {
	r := &Redactor{}
	for _, v := range values {
		if len(v.Text) >= shortest {
			r.needles = append(r.needles, needles(v)...)
		}
	}
	if len(r.needles) == 0 {
		return nil
	}
	for i := range r.needles {
		for b := range r.begin {
			r.first[b] = r.first[b] || r.needles[i].begins(byte(b))
			if introduces(byte(b)) || r.needles[i].starts(byte(b)) {
				r.begin[b] = append(r.begin[b], &r.needles[i])
			}
		}
	}
	return r
}

// find looks for values at one place, and returns the one that ends last; nil if there is none. more says that with more
// text there may be one, or a longer one.
func (r *Redactor) find(text []byte, i int) (end int, found *needle, more bool) {
	candidates := r.begin[text[i]]
	if len(candidates) == 0 || introduces(text[i]) && !r.opens(text, i) {
		return 0, nil, false
	}
	for _, n := range candidates {
		to, open := n.match(text, i)
		more = more || open
		if to > end {
			end, found = to, n
		}
	}
	return end, found, more
}

// opens reports whether an escape may stand for the beginning of a value, or is not there as a whole.
func (r *Redactor) opens(text []byte, i int) bool {
	c := chars{text: text}
	m := c.at(i)
	for _, one := range m.all[:m.n] {
		if r.first[one.text[0]] {
			return true
		}
	}
	return c.cut
}

// run is how far a text was looked through. Values that overlap are taken out together, so that no end of one stays.
type run struct {
	covered int    // so many bytes of what is left belong to a value that was taken out
	last    string // what stands in its place
}

// clean appends text without values to dst, and returns how much of it was looked at: all of it, unless more is to come
// and something could be the beginning of a value.
func (r *Redactor) clean(dst, text []byte, was *run, more bool) (out []byte, looked int) {
	given := 0 // text[:given] is in dst, or taken out
	i := 0
	give := func(to int) {
		if given = max(given, was.covered); to > given {
			dst, given = append(dst, text[given:to]...), to
		}
	}
	for ; i < len(text); i++ {
		end, found, open := r.find(text, i)
		if open && more {
			break
		}
		if found == nil || end <= was.covered {
			continue
		}
		give(i)
		if i >= was.covered || found.instead != was.last {
			dst = append(dst, found.instead...)
		}
		was.covered, was.last = end, found.instead
	}
	give(i)
	was.covered = max(was.covered-i, 0)
	return dst, i
}

// Text returns text without values; it is text itself if there are none in it.
func (r *Redactor) Text(text []byte) []byte {
	if r == nil {
		return text
	}
	i := 0
	for ; i < len(text); i++ {
		if _, found, _ := r.find(text, i); found != nil {
			break
		}
	}
	if i == len(text) {
		return text
	}
	out, _ := r.clean(slices.Clone(text[:i]), text[i:], &run{}, false)
	return out
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

// Reader returns a reader of what from says without values, also where one comes in several reads. It
// keeps back only what could still become a value. Closing it closes from. A nil redactor returns from.
func (r *Redactor) Reader(from io.ReadCloser) io.ReadCloser {
	if r == nil {
		return from
	}
	return &reader{Redactor: r, from: from, buf: make([]byte, 0, 4096)}
}

// reader redacts a stream.
type reader struct {
	*Redactor
	from  io.ReadCloser
	buf   []byte // read and not looked through
	run   run
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
	out, looked := r.clean(nil, r.buf, &r.run, err == nil)
	r.ready = out
	r.buf = append(r.buf[:0], r.buf[looked:]...)
}

// Close closes what is read from.
func (r *reader) Close() error { return r.from.Close() }

// ValidName reports whether a secret can be called so: letters, digits, and _ . - between them.
func ValidName(name string) bool {
	return name != "" && len(name) <= 128 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
