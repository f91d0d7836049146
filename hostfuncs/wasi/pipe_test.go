package wasi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

func TestPipe_transfersUntilClosed(t *testing.T) {
	p := NewPipe(1000)
	want := bytes.Repeat([]byte("0123456789"), 5000)
	done := make(chan error)
	go func() {
		_, err := p.Write(want)
		done <- errors.Join(err, p.Close(), p.Close())
	}()
	got, err := io.ReadAll(p)
	if err := errors.Join(err, <-done); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := p.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	q := NewPipe(0)
	q.CloseRead()
	q.CloseRead()
	if _, err := q.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// Waiting readers and writers are notified of each change, and can be cancelled.
func TestPipe_notifiesAndCancels(t *testing.T) {
	p := NewPipe(0)
	n, wait, err := p.TryRead(make([]byte, 1))
	if n != 0 || wait == nil || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	r, changed := p.Readable()
	if r != (Readiness{}) {
		t.Errorf("an empty pipe: %+v", r)
	}
	if n, more, err := p.TryWrite(make([]byte, minPipe+1)); n != minPipe || more == nil || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	<-wait
	<-changed
	if r, _ := p.Readable(); r != (Readiness{Ready: true, Size: minPipe}) {
		t.Errorf("a full pipe, to its reader: %+v", r)
	}
	if w, _ := p.Writable(); w != (Readiness{}) {
		t.Errorf("a full pipe, to its writer: %+v", w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := p.WriteContext(ctx, []byte("x")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("wrote %d, %v", n, err)
	}
	broken := errors.New("broken")
	p.CloseWithError(broken)
	if n, err := io.ReadFull(p, make([]byte, minPipe)); n != minPipe || err != nil {
		t.Errorf("what is left: %d, %v", n, err)
	}
	if _, err := p.ReadContext(t.Context(), make([]byte, 1)); !errors.Is(err, broken) {
		t.Errorf("the end: %v", err)
	}
	if r, _ := p.Readable(); !r.Ready || !r.Hangup {
		t.Errorf("after the end: %+v", r)
	}
}
