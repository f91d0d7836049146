package streamable

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// A resumed call ends the connection that it had before, also while the call goes on.
func TestPendingCall_endsAReplacedConnection(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	call := s.open(t.Context(), "POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"talk"}}`), in)
	s.reads(call, priming("1-0")+eventID("1-1", progress(0))+eventID("1-2", progress(1)))
	in["Last-Event-ID"] = "1-2"
	rest := s.open(t.Context(), "GET", "", in)
	s.reads(rest, priming("1-2"))
	s.ends(call)
	close(f.release)
	s.reads(rest, eventID("1-3", doneBody))
	s.ends(rest)
}

// A call whose client has left is not counted as one of its requests in flight, and its connection is closed.
func TestPendingCall_givesItsPlacesBackWhenItsClientLeaves(t *testing.T) {
	for name, text := range map[string]string{"after a message": "talk", "without a message": ""} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			s := serve(t, f, &Options{Connections: 8})
			in := headers{"Mcp-Session-Id": s.begin(nil)}
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() {
				defer close(left)
				body := legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"`+text+`"}}`)
				if r, err := http.DefaultClient.Do(s.request(ctx, "POST", body, in)); err == nil {
					io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
			}()
			receive(t, f.entered)
			if n := s.inFlight(); n != 1 {
				t.Errorf("got %d requests in flight, want 1", n)
			}
			leave()
			receive(t, left)
			for s.inFlight() != 0 {
				runtime.Gosched()
			}
			if len(f.left) > 0 {
				t.Errorf("got the end of the call, %v, want it to go on", <-f.left)
			}
			close(f.release)
			if err := receive(t, f.left); err != nil {
				t.Errorf("got the end of the call %v, want none", err)
			}
			http.DefaultClient.CloseIdleConnections()
			s.end()
			if n := s.inFlight(); n != 0 {
				t.Errorf("got %d requests in flight after the end, want 0", n)
			}
		})
	}
}

// inFlight returns the number of requests in flight.
func (s *served) inFlight() int {
	b := s.h.admission.requests
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.h.options.Connections - b.left
}

// cutWriter is a response whose connection takes a part of what is written.
type cutWriter struct {
	http.ResponseWriter
	conn net.Conn
}

func (w cutWriter) FlushError() error                { return io.ErrShortWrite }
func (w cutWriter) SetReadDeadline(time.Time) error  { return nil }
func (w cutWriter) SetWriteDeadline(time.Time) error { return nil }

func (w cutWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.conn, nil, nil }

// A body that was cut in an event has no end: its client would take the end for the rest of the event.
func TestPendingCall_endsNoBodyThatWasCut(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	r := s.request(t.Context(), "POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"talk"}}`), in)
	r.RemoteAddr = "127.0.0.1:1"
	client, conn := net.Pipe()
	served := make(chan bool)
	go func() {
		defer close(served)
		s.h.ServeHTTP(cutWriter{httptest.NewRecorder(), conn}, r)
	}()
	if rest, err := io.ReadAll(client); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v, want a closed connection", rest, err)
	}
	close(f.release)
	receive(t, served)
}

// In HTTP/2 the response to a released call ends with the call, since the connection is not its own.
func TestPendingCall_isAnsweredOnItsConnectionInHTTP2(t *testing.T) {
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	f := newFake()
	s := serve(t, f, &Options{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	do := func(body string, in headers) *http.Response {
		t.Helper()
		r, err := (&http.Client{Transport: transport}).Do(s.request(t.Context(), "POST", body, in))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	in := headers{"Mcp-Session-Id": do(initializeBody, nil).Header.Get("Mcp-Session-Id")}
	r := do(legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"release"}}`), in)
	if r.ProtoMajor != 2 {
		t.Fatalf("got %s, want HTTP/2", r.Proto)
	}
	stream := bufio.NewReader(r.Body)
	s.reads(stream, priming("1-0"))
	receive(t, f.entered)
	close(f.release)
	s.reads(stream, eventID("1-1", doneBody))
	s.ends(stream)
}
