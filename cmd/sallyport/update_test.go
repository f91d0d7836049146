//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watchedServer is a server on loopback that counts its connections.
type watchedServer struct {
	*httptest.Server
	connections atomic.Int32
	received    atomic.Pointer[string]
}

func newWatchedServer(t *testing.T) *watchedServer {
	t.Helper()
	s := &watchedServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		s.received.Store(&text)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// watched is an installed plugin whose calls are recorded, with its host.
type watched struct {
	*added
	source  string // the file that it was added from
	honest  []byte
	notes   string
	session *mcp.ClientSession
}

func newWatched(t *testing.T, grants ...string) *watched {
	t.Helper()
	w := &watched{added: newAdded(t), notes: t.TempDir()}
	lines := append([]string{"fs: read " + w.notes + "/**"}, grants...)
	put(t, filepath.Join(w.home, "sallyport.yaml"), fmt.Appendf(nil, "plugins: {watched: {record: 7d, limits: {deadline: 2s}, grants: ['%s']}}\n", strings.Join(lines, "', '")))
	var err error
	if w.honest, err = os.ReadFile(guest(t, "watched")); err != nil {
		t.Fatal(err)
	}
	w.source = filepath.Join(t.TempDir(), "watched.wasm")
	put(t, w.source, w.honest)
	if screen, out, code := typing(t, w.program("add", w.source, w.dir), "y"); code != 0 {
		t.Fatalf("add: got code %d, %s\n%s", code, out, screen)
	}
	w.session = session(t, commandTransport(w.program("serve", w.dir)), nil)
	return w
}

// note writes a note and returns its path.
func (w *watched) note(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.notes, name)
	put(w.t, path, []byte(text))
	return path
}

// send calls the tool.
func (w *watched) send(note, to string) string {
	w.t.Helper()
	return text(unhurried(w.t, w.session, "", "watched-send", map[string]any{"note": note, "to": to}))
}

// mode returns the bytes with another last letter of the mode.
func (w *watched) mode(letter string) []byte {
	w.t.Helper()
	const mode = "the mode of this guest is: hones"
	if bytes.Count(w.honest, []byte(mode+"t")) != 1 {
		w.t.Fatal("the mode is not in the bytes once")
	}
	return bytes.Replace(w.honest, []byte(mode+"t"), []byte(mode+letter), 1)
}

// update shows the update to new bytes, and declines it.
func (w *watched) update(wasm []byte) (screen string) {
	w.t.Helper()
	put(w.t, w.source, wasm)
	screen, out, code := typing(w.t, w.program("update", w.dir), "n")
	if code != 1 || !strings.Contains(out, "nothing was changed") {
		w.t.Errorf("update: got code %d, %s, want nothing changed", code, out)
	}
	return strings.ReplaceAll(screen, "\r\n", "\n")
}

// The update of a plugin that sends a note of last week to another host is shown with that host and the note, before
// it is approved, whether its grants allow the host or not. Neither host sees a connection meanwhile.
func TestUpdate_showsNewEffect(t *testing.T) {
	t.Parallel()
	for _, granted := range []bool{true, false} {
		api, evil := newWatchedServer(t), newWatchedServer(t)
		grants := []string{"net: POST " + api.URL + "/**"}
		if granted {
			grants = append(grants, "net: POST "+evil.URL+"/**")
		}
		w := newWatched(t, grants...)
		plain, hidden := w.note("plain", "buy milk"), w.note("hidden", evil.URL+"/collect\nthe safe is 12-34-56")
		for _, note := range []string{plain, plain, hidden} {
			if got := w.send(note, api.URL+"/notes"); got != "200" {
				t.Fatalf("%s: got %s, want 200", note, got)
			}
		}
		before := api.connections.Load()
		screen := w.update(w.mode("T"))
		denied := ", which no grant allows"
		if granted {
			denied = ""
		}
		for _, want := range []string{"effects: 3 of 3 recorded calls since", "+ new host: POST " + evil.URL + "/collect" + denied + "\n",
			"in 1 call, first of send at ", "the safe is 12-34-56", "nothing left this machine", "behaves differently when it is watched is possible"} {
			if !strings.Contains(screen, want) {
				t.Errorf("granted %t: the screen lacks %q:\n%s", granted, want, screen)
			}
		}
		if strings.Contains(screen, "~ answer") || strings.Contains(screen, "- gone") || strings.Contains(screen, "buy milk") {
			t.Errorf("granted %t: the screen has more than the new host:\n%s", granted, screen)
		}
		if n, more := evil.connections.Load(), api.connections.Load()-before; n != 0 || more != 0 {
			t.Errorf("granted %t: got %d connections to the new host and %d to the known one, want none", granted, n, more)
		}
		if !granted {
			continue
		}
		if _, out, code := typing(t, w.program("update", w.dir), "y"); code != 0 {
			t.Fatalf("update: got code %d, %s", code, out)
		}
		eventually(t, "the new bytes do what was shown", func() bool {
			w.send(hidden, api.URL+"/notes")
			return evil.received.Load() != nil
		})
	}
}

// New bytes that hang or trap end their trial, and the difference is shown. Damaged recordings are counted.
func TestUpdate_showsFailuresOfNewBytes(t *testing.T) {
	t.Parallel()
	api := newWatchedServer(t)
	w := newWatched(t, "net: POST "+api.URL+"/**")
	w.send(w.note("plain", "buy milk"), api.URL+"/notes")
	if screen := w.update(w.mode("L")); !strings.Contains(screen, "! failed: send\n") || !strings.Contains(screen, "deadline") {
		t.Errorf("a hang: the screen lacks it:\n%s", screen)
	}
	if screen := w.update(w.mode("P")); !strings.Contains(screen, "! failed: send\n") {
		t.Errorf("a trap: the screen lacks it:\n%s", screen)
	}
	files, err := filepath.Glob(filepath.Join(w.home, "state", "recorded", "watched", "*.call"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got recorded calls %v, %v, want 1", files, err)
	}
	if raw, err := os.ReadFile(files[0]); err != nil || bytes.Contains(raw, []byte("milk")) || bytes.Contains(raw, []byte("send")) {
		t.Errorf("got %v and a recorded call that can be read, want it sealed", err)
	}
	put(t, files[0], []byte("damaged"))
	if screen := w.update(w.mode("P")); !strings.Contains(screen, "no call is recorded yet") || !strings.Contains(screen, "1 recorded call cannot be read") {
		t.Errorf("a damaged call: the screen lacks it:\n%s", screen)
	}
}

// The differences of a held plugin are JSON too, without a question.
func TestApprove_printsEffectsAsJSON(t *testing.T) {
	t.Parallel()
	api, evil := newWatchedServer(t), newWatchedServer(t)
	w := newWatched(t, "net: POST "+api.URL+"/**")
	w.send(w.note("hidden", evil.URL+"/collect\nthe safe is 12-34-56"), api.URL+"/notes")
	put(t, filepath.Join(w.dir, "watched.wasm"), w.mode("T"))
	out, err := w.program("approve", "watched", w.dir, "--json").Output()
	var got struct {
		Plugin  string
		Effects struct {
			Recorded, Tried int
			Differences     []struct {
				Kind, What, Entry string
				Denied            bool
			}
		}
	}
	if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil || got.Plugin != "watched" || got.Effects.Tried != 1 || len(got.Effects.Differences) != 1 {
		t.Fatalf("got %s, %v, want one difference", out, err)
	}
	if d := got.Effects.Differences[0]; d.Kind != "host" || d.What != "POST "+evil.URL+"/collect" || d.Entry != "send" || !d.Denied {
		t.Errorf("got %+v, want the new host", d)
	}
	if n := evil.connections.Load(); n != 0 {
		t.Errorf("got %d connections to the new host, want none", n)
	}
}
