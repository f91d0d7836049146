package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestServe_drainsAtTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, nil)
		c.send(callOf(1, "wait"))
		<-f.entered
		c.in.Close()
		synctest.Wait()
		if len(c.done) > 0 {
			t.Fatalf("with a call in flight: got an end with %v, want none", <-c.done)
		}
		close(f.release)
		c.want(result(1, `{"done":true}`))
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		<-f.closed
	})
}

// A response is buffered if a message was read ahead. At the end of input none follows, and it is written before
// Serve returns.
func TestServer_drainWritesHeldAnswers(t *testing.T) {
	out := new(bytes.Buffer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{conn: newFake(), out: newWriter(out, func(err error) { t.Error(err) })}
	s.calls = newCalls(ctx, s.out, (&Options{}).withDefaults())
	c := new(call)
	s.calls.start(c, []byte("1"), 1)
	s.out.write([]byte(result(1, "{}")), true)
	s.calls.finish(c)
	s.drain(cancel, time.Minute)
	if got := out.String(); got != result(1, "{}")+"\n" {
		t.Errorf("got %q, want %q", got, result(1, "{}")+"\n")
	}
}

func TestServe_boundsTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, &Options{Drain: 10 * time.Millisecond})
		c.send(callOf(1, "wait"))
		<-f.entered
		c.in.Close()
		if err := c.end(); err != nil { // wait is cancelled, and has no response
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, &Options{Drain: -1})
		c.send(callOf(1, "deaf"))
		<-f.entered
		c.in.Close()
		if err := c.end(); err != errLeft {
			t.Fatalf("got %v, want %v", err, errLeft)
		}
		close(f.release)
	})
}

func TestServe_contextStopsABlockedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := start(t, f, nil)
		c.send(callOf(1, "wait"))
		<-f.entered
		c.stop()
		synctest.Wait()
		close(f.release)
		c.want(result(1, `{"done":true}`)) // calls may finish
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestServe_contextStopsABlockedWrite has a client that does not read, and cancels the context.
func TestServe_contextStopsABlockedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- serve(ctx, newFake().connect, inR, outW, (&Options{Drain: time.Millisecond}).withDefaults())
		}()
		io.WriteString(inW, callOf(1, "echo")+"\n")
		synctest.Wait() // the response is being written
		stop()
		select {
		case err := <-done:
			if err != errLeft {
				t.Errorf("got %v, want %v", err, errLeft)
			}
		case <-time.After(patience):
			t.Errorf("got no end of Serve within %v, want one", patience)
		}
		outR.Close()
		inR.Close()
	})
}

// A client that does not read closes its input. Its answer was delayed, since another message had begun behind the request:
// while it is written before the next read, the end of input is seen all the same.
func TestServe_seesTheEndOfInputWhileItsAnswerIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error)
		go func() {
			done <- serve(t.Context(), newFake().connect, inR, outW, (&Options{Drain: time.Millisecond}).withDefaults())
		}()
		io.WriteString(inW, callOf(1, "echo")+"\n{")
		synctest.Wait() // the response is being written
		inW.Close()
		select {
		case err := <-done:
			if err != errLeft {
				t.Errorf("got %v, want %v", err, errLeft)
			}
		case <-time.After(patience):
			t.Errorf("got no end of Serve within %v, want one", patience)
		}
		outR.Close()
		inR.Close()
	})
}

func TestServe_returnsWriteErrors(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	broken := errors.New("broken pipe")
	outR.CloseWithError(broken)
	done := make(chan error)
	go func() { done <- serve(t.Context(), newFake().connect, inR, outW, new(Options).withDefaults()) }()
	io.WriteString(inW, callOf(1, "echo")+"\n")
	err := <-done
	if !errors.Is(err, broken) || err.Error() != "write: broken pipe" {
		t.Errorf("got %v, want %v", err, broken)
	}
	inR.Close()
}

func TestServe_returnsReadErrors(t *testing.T) {
	inR, inW := io.Pipe()
	broken := errors.New("bad descriptor")
	inW.CloseWithError(broken)
	err := serve(t.Context(), newFake().connect, inR, io.Discard, new(Options).withDefaults())
	if !errors.Is(err, broken) || err.Error() != "read: bad descriptor" {
		t.Errorf("got %v, want %v", err, broken)
	}
}
