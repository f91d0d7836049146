package egress

import (
	"compress/gzip"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// body is the body of a response as the guest reads it: decompressed, counted, limited and redacted. Close ends the
// request.
type body struct {
	from   io.ReadCloser
	gzip   bool              // the body is compressed
	redact *secret.Redactor  // applied after decompression; nil for none
	in     io.Reader         // from, or its decompressor
	left   int64             // bytes that the guest may still read
	limit  int64             // maximum size
	read   func(n int) error // called with the bytes read; an error ends the reading
	done   func()
	once   sync.Once
	unstop func() bool // releases the hook that closes the body with its context
}

// Read reads the next bytes. It returns an error beyond the limit.
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

// open is called by the first Read, since the gzip header may arrive late.
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
		return // an empty body is not compressed
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

// clean wraps the reader with the redactor.
func (b *body) clean() { b.in = b.redact.Reader(io.NopCloser(b.in)) }

// failing is a reader that returns an error.
type failing struct{ err error }

// Read returns the error.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// end is called at the limit. It distinguishes a body of exactly that length from a longer one.
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

// Close ends the request. It may be called more than once.
func (b *body) Close() error {
	b.unstop()
	return b.finish()
}

// finish is Close for the end of the context, which may come before unstop is set.
func (b *body) finish() error {
	var err error
	b.once.Do(func() {
		err = b.from.Close()
		b.done()
	})
	return err
}
