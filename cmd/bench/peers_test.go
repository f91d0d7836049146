package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// answering answers like a server: a call with its text, or with wrong.
func answering(wrong string) func([]byte) []byte {
	return func(message []byte) []byte {
		m, err := jsonrpc.Parse(message)
		if err != nil || m.ID == nil {
			return nil
		}
		text := string(message)
		if wrong != "" && m.Method == "tools/call" {
			text = wrong
		}
		return jsonrpc.AppendResult(nil, m.ID, []byte(`{"content":`+quote(text)+`}`))
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(strings.TrimSpace(s), `"`, "'") + `"` }

// Many calls in flight, small and large, are answered and measured; a wrong answer is an error.
func TestPipe_measuresAndChecksAnswers(t *testing.T) {
	for _, size := range []int{100, 100_000} {
		toServer, in := io.Pipe()
		out, fromServer := io.Pipe()
		go func() { _ = lines(toServer, fromServer, answering("")) }()
		p, err := newPipe(in, out)
		if err != nil {
			t.Fatal(err)
		}
		latencies, err := p.calls(echoCall(payload(size)), 16, 20*time.Millisecond)
		if err != nil || len(latencies) != p.sent || p.sent == 0 {
			t.Errorf("%d of %d calls: %v", len(latencies), p.sent, err)
		}
		_ = in.Close()
	}
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	go func() { _ = lines(toServer, fromServer, answering("something else")) }()
	p, err := newPipe(in, out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.calls(echoCall(payload(100)), 4, time.Second); err == nil || !strings.Contains(err.Error(), "unexpected answer") {
		t.Errorf("got %v, want an error, %q in it", err, "unexpected answer")
	}
	_ = in.Close()
}

// TestWeb_measuresAndChecksAnswers does the same over HTTP, with a session.
func TestWeb_measuresAndChecksAnswers(t *testing.T) {
	answer := answering("")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "initialize") && r.Header.Get("Mcp-Session-Id") != "one" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Mcp-Session-Id", "one")
		_, _ = w.Write(answer(body))
	}))
	defer srv.Close()
	w, err := dialHTTP(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if latencies, err := w.calls(echoCall(payload(100)), 4, 10*time.Millisecond); err != nil || len(latencies) < 4 {
		t.Errorf("%d calls: %v", len(latencies), err)
	}
	w.session = "another"
	if _, err := w.calls(echoCall(payload(100)), 1, time.Millisecond); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want an error, %q in it", err, "404")
	}
}

func TestIDOf_readsTheNumber(t *testing.T) {
	for line, want := range map[string]int{
		`{"jsonrpc":"2.0","id":17,"result":{}}`:                             17,
		`{"jsonrpc":"2.0","result":{"text":"` + payload(200) + `"},"id":9}`: 9,
	} {
		if got := idOf([]byte(line)); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// TestToolsGuest_isBuiltFromItsSource checks that the committed guests were built from their current source.
func TestToolsGuest_isBuiltFromItsSource(t *testing.T) {
	for dir, names := range map[string][]string{
		"toolsrust": {"Cargo.toml", "Cargo.lock", "src/lib.rs", "tools.wasm"}, "toolsc": {"tools.c", "tools.wasm"},
		"toolszig": {"tools.zig", "tools.wasm"}, "toolsassemblyscript": {"tools.ts", "tools.wasm"},
		"toolstinygo": {"go.mod", "main.go", "tools.wasm"},
	} {
		dir = filepath.Join("testdata", dir)
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), name); err != nil || !strings.Contains(string(sums), want) {
				t.Errorf("%s: got other contents than SHA256SUMS, %v, want the same: run make tools-guest", name, err)
			}
		}
	}
}

// TestGoal_saysWhatIsMissed checks both directions, and that a run without a goal's row is an error.
func TestGoal_saysWhatIsMissed(t *testing.T) {
	g := goals()[0]
	for value, want := range map[float64]string{g.limit: fmt.Sprintf("≤ %.3g", g.limit), g.limit + 1: fmt.Sprintf("≤ %.3g missed", g.limit)} {
		if got := (row{Name: g.row, Value: value}).goal(); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
	if got := (row{Name: "no such row"}).goal(); got != "" {
		t.Errorf("got %q, want no goal", got)
	}
	if err := unmeasured([]row{{Name: g.row}}); err == nil || strings.Contains(err.Error(), g.row) || !strings.Contains(err.Error(), goals()[1].row) {
		t.Errorf("got %v, want an error with the other goals", err)
	}
}
