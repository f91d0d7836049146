package server

import "testing"

// unread is the standard input of a server that reads nothing.
type unread struct{}

func (unread) Send([]byte) bool { return true }
func (unread) Rest() []byte     { return nil }

// resumer is a client that makes no request.
type resumer struct{ client }

func (resumer) resumed() {}

// Calls that begin behind the handshake share the note of the image. A server that left the start of a line there gets
// a line of its own in each call: the room behind the start must not carry bytes from one call to another.
func TestSettled_linesOfTwoCallsShareNoMemory(t *testing.T) {
	behind := &settled{line: append(make([]byte, 0, 64), "start "...)}
	one, other := &conversation{input: unread{}, limit: 100}, &conversation{input: unread{}, limit: 100}
	behind.resume(one, resumer{})
	behind.resume(other, resumer{})
	for _, w := range []struct {
		call *conversation
		text string
	}{{one, "of one"}, {other, "of other"}} {
		if _, err := w.call.Write([]byte(w.text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := string(one.line), "start of one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(other.line), "start of other"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
