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
		t.Errorf("got %d bytes, %v, want the %d written", len(got), err, len(want))
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
		t.Fatalf("read of an empty pipe: got %d bytes, %v, want a wait", n, err)
	}
	r, changed := p.Readable()
	if r != (Readiness{}) {
		t.Errorf("an empty pipe: got %+v, want it not ready", r)
	}
	if n, more, err := p.TryWrite(make([]byte, minPipe+1)); n != minPipe || more == nil || err != nil {
		t.Errorf("write: got %d bytes, %v, want %d and a wait", n, err, minPipe)
	}
	<-wait
	<-changed
	if r, _ := p.Readable(); r != (Readiness{Ready: true, Size: minPipe}) {
		t.Errorf("a full pipe, to its reader: got %+v, want %d bytes ready", r, minPipe)
	}
	if w, _ := p.Writable(); w != (Readiness{}) {
		t.Errorf("a full pipe, to its writer: got %+v, want it not ready", w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := p.WriteContext(ctx, []byte("x")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("write of a cancelled context: got %d bytes, %v, want %v", n, err, context.Canceled)
	}
	broken := errors.New("broken")
	p.CloseWithError(broken)
	if n, err := io.ReadFull(p, make([]byte, minPipe)); n != minPipe || err != nil {
		t.Errorf("read after the close: got %d bytes, %v, want the %d left", n, err, minPipe)
	}
	if _, err := p.ReadContext(t.Context(), make([]byte, 1)); !errors.Is(err, broken) {
		t.Errorf("read at the end: got %v, want %v", err, broken)
	}
	if r, _ := p.Readable(); !r.Ready || !r.Hangup {
		t.Errorf("at the end: got %+v, want ready and hung up", r)
	}
}
