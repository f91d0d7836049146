package egress

import (
	"compress/gzip"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// body is the body of an answer as the guest reads it: decompressed, counted and bounded. Closing it
// ends the request.
type body struct {
	from   io.ReadCloser
	gzip   bool              // still to be undone
	redact *secret.Redactor  // of what is read, after decompression; nil leaves it alone
	in     io.Reader         // from, or what undoes its compression
	left   int64             // bytes the guest may still read
	limit  int64             // of all that it may read
	read   func(n int) error // what was read counts; it may be too much
	done   func()
	once   sync.Once
	unstop func() bool // forgets the context that ends the request, should nobody close the body
}

// Read reads on; beyond the bound it fails.
func (b *body) Read(p []byte) (int, error) {
	b.open()
	if b.left <= 0 {
		return b.end()
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.in.Read(p)
	b.left -= int64(n)
	if over := b.read(n); over != nil {
		return 0, over
	}
	return n, err
}

// open begins with the first read, since the header of the compression may come late.
func (b *body) open() {
	if b.in != nil {
		return
	}
	b.in = b.from
	if !b.gzip {
		b.clean()
		return
	}
	z, err := gzip.NewReader(b.from)
	switch {
	case err == io.EOF:
		return // nothing at all came, which is not compressed
	case err == gzip.ErrHeader:
		err = runtime.AskErrorf(runtime.KindUnavailable, "the answer is not the gzip it says")
	}
	if err != nil {
		b.in = failing{err}
		return
	}
	b.in = z
	b.clean()
}

// clean takes values of secrets out of what is read.
func (b *body) clean() { b.in = b.redact.Reader(io.NopCloser(b.in)) }

// failing is a reader that cannot.
type failing struct{ err error }

// Read fails.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// end tells a body of just the allowed length from one that goes on.
func (b *body) end() (int, error) {
	var one [1]byte
	for range 100 {
		n, err := b.in.Read(one[:])
		if n > 0 {
			return 0, runtime.AskErrorf(runtime.KindLimit, "the answer is longer than %d bytes", b.limit)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// Close ends the request. It may be called again.
func (b *body) Close() error {
	b.unstop()
	return b.finish()
}

// finish is Close as the context's end calls it, which may come before unstop is set.
func (b *body) finish() error {
	var err error
	b.once.Do(func() {
		err = b.from.Close()
		b.done()
	})
	return err
}
