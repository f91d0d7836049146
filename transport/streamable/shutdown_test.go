package streamable

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestServe_shutdownWaitsForCalls(t *testing.T) {
	f := newFake()
	s := serve(t, f, &Options{})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.want("call", "POST", callBody("wait", ""), modernHeaders("tools/call", "wait", nil), 200, doneBody)
	}()
	receive(t, f.entered)
	rests := s.dial() // it is closed by the shutdown, after the listener
	if err := s.request(t.Context(), "POST", callBody("echo", ""), modernHeaders("tools/call", "echo", nil)).Write(rests); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(rests)
	if response, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	} else if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Close {
		t.Fatal("the connection does not stay:", err)
	}
	s.stop()
	if _, err := r.ReadByte(); err != io.EOF {
		t.Fatalf("got %v, want %v", err, io.EOF)
	}
	if len(s.done) > 0 {
		t.Fatalf("Serve returned %v with a call in flight", <-s.done)
	}
	if c, err := net.Dial("tcp", s.l.Addr().String()); err == nil {
		c.Close()
		t.Error("a new connection is accepted")
	}
	close(f.release)
	<-answered
	s.end()
}

func TestServe_shutdownCancelsCallsAfterTheDrain(t *testing.T) {
	f := newFake()
	s := serve(t, f, &Options{Drain: 10 * time.Millisecond})
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	answered := make(chan struct{}, 2)
	ask := func(body string, extra headers) {
		s.want("call", "POST", body, extra, 200, cancelledBody("1", "the server is shutting down"))
		answered <- struct{}{}
	}
	go ask(callBody("wait", ""), modernHeaders("tools/call", "wait", nil))
	go ask(legacyBody(1, "tools/call", `{"name":"wait"}`), in)
	for range 2 {
		receive(t, f.entered)
	}
	s.end()
	for range 2 {
		if err := receive(t, f.left); err != context.Canceled {
			t.Errorf("a call ended with %v", err)
		}
		receive(t, answered)
	}
	if f.connected.Load() != f.closed.Load() {
		t.Errorf("%d connected, %d closed", f.connected.Load(), f.closed.Load())
	}
}
