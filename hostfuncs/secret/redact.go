package secret

import (
	"io"
	"slices"
	"strings"
)

// shortest is the minimum length in bytes of a redacted value: a shorter one would match unrelated text.
const shortest = 12

// Value is a secret with its name.
type Value struct {
	Name string
	Text string
	// Instead is the replacement; empty means [secret:NAME].
	Instead string
}

// Redactor replaces values by [secret:NAME], or by their Instead. It is immutable and safe for concurrent use. A nil
// Redactor replaces nothing.
type Redactor struct {
	needles []needle
	begin   [256][]*needle // needles that may begin with the byte; all of them if the byte begins an escape
	first   [256]bool      // set of the bytes that a needle begins with
}

// NewRedactor returns a Redactor for the values of at least 12 bytes. It is nil if there are none.
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

// find searches for values at one index, and returns the one that ends last, or nil. more reports that more text
// could produce a match, or a longer one.
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

// opens reports whether an escape may encode the beginning of a value, or is incomplete.
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

// run is the state of a scan over several chunks. Overlapping values are redacted together, so that no part of one
// remains.
type run struct {
	covered int    // number of remaining bytes that belong to a redacted value
	last    string // its replacement
}

// clean appends the redacted text to dst, and returns the number of bytes scanned. It is less than all of them only
// if more text follows and the rest could be the beginning of a value.
func (r *Redactor) clean(dst, text []byte, was *run, more bool) (out []byte, looked int) {
	given := 0 // text[:given] is in dst, or redacted
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

// Text returns the redacted text, or text itself if it contains no values.
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

// Reader returns a reader of the redacted stream, including values that are split across reads. It delays only bytes
// that could be the beginning of a value. Closing it closes from. A nil Redactor returns from.
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
	buf   []byte // read but not scanned
	run   run
	ready []byte // ready to be returned
	err   error  // error of from, returned after ready and buf
}

// Read reads redacted text.
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

// fill reads once from the source, and scans the result.
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

// Close closes the source.
func (r *reader) Close() error { return r.from.Close() }

// ValidName reports whether a name is valid for a secret: letters, digits, and _ . - between them.
func ValidName(name string) bool {
	return name != "" && len(name) <= 128 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
