package hostfuncs

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// aborts returns the text with which f ends the guest, "" if it returns.
func aborts(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = r.(error).Error()
		}
	}()
	f()
	return ""
}

// TestRehearsalGate_logsOutputForDebugging checks that the log of an operator has no calls that nobody made.
func TestRehearsalGate_logsOutputForDebugging(t *testing.T) {
	var log strings.Builder
	h := NewHost(&Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1"})
	for want, g := range map[string]*Gate{"level=DEBUG msg=said": p.RehearsalGate(), "level=INFO msg=said": p.StartGate()} {
		defer g.Close()
		log.Reset()
		if _, err := g.newOutputs().stderr.Write([]byte("said\n")); err != nil || !strings.Contains(log.String(), want) {
			t.Errorf("got %v, %s, want %s", err, log.String(), want)
		}
	}
}

// TestRehearsalGate_endsAtRequestsAndFiles checks that a rehearsal ends at each effect that the grants would allow a call.
func TestRehearsalGate_endsAtRequestsAndFiles(t *testing.T) {
	var lines []grant.Grant
	for _, line := range []string{"fs: write /srv/**", "net: GET https://a.example/**", "kv: 16MiB", "elicitation"} {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	h := NewHost(nil)
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1", Grants: grant.NewSet(lines...), Config: map[string]string{"city": "Oslo"}})
	g := p.RehearsalGate()
	defer g.Close()
	tree := g.WASI().Tree()
	for name, act := range map[string]func(){
		"open":     func() { tree.Open("srv/a", wasi.OpenOptions{Read: true}) },
		"stat":     func() { tree.Stat("srv", true) },
		"mkdir":    func() { tree.Mkdir("srv/a") },
		"rename":   func() { tree.Rename("srv/a", "srv/b") },
		"unlink":   func() { tree.Unlink("srv/a") },
		"rmdir":    func() { tree.Rmdir("srv/a") },
		"symlink":  func() { tree.Symlink("a", "srv/b") },
		"readlink": func() { tree.Readlink("srv/a") },
		"link":     func() { tree.Link("srv/a", "srv/b", false) },
		"chtimes":  func() { tree.Chtimes("srv/a", wasi.Times{}, true) },
		"fetch":    func() { g.Ask(t.Context(), "http/fetch", []byte(`{"url":"https://a.example/x"}`), nil) },
		"kv":       func() { g.Ask(t.Context(), "kv/get", []byte(`{"key":"k"}`), nil) },
		"ask":      func() { g.Ask(t.Context(), "elicitation/create", []byte(`{}`), nil) },
		"unknown":  func() { g.Ask(t.Context(), "no/such", nil, nil) },
	} {
		if got := aborts(act); !strings.Contains(got, "a rehearsal asks the host for nothing") {
			t.Errorf("%s: got %q, want the end of the rehearsal", name, got)
		}
	}
	var o wasi.Options
	g.policy.plugin.settle(&o)
	if got := aborts(func() { o.Random.Read(make([]byte, 8)) }); !strings.Contains(got, "random") {
		t.Errorf("random numbers: got %q, want the end of the rehearsal", got)
	}
	if got := aborts(func() { o.Waits(math.MaxInt64) }); !strings.Contains(got, "a rehearsal asks the host for nothing") {
		t.Errorf("a wait without a timer: got %q, want the end of the rehearsal", got)
	}
	if got := aborts(func() { o.Waits(time.Hour) }); got != "" {
		t.Errorf("a wait for a timer: got %q, want no end", got)
	}
	if _, err := g.Ask(t.Context(), "notifications/message", []byte(`{"level":"info","data":"x"}`), nil); err != nil {
		t.Errorf("a log message: got %v, want no error", err)
	}
	if city, ok := g.Config("city"); !ok || city != "Oslo" {
		t.Errorf("configuration: got %q, %v, want Oslo", city, ok)
	}
}

// TestRehearsalGate_endsAtRounds checks the second way to ask.
func TestRehearsalGate_endsAtRounds(t *testing.T) {
	h := NewHost(nil)
	defer h.Close()
	g := h.Plugin(Plugin{Name: "a"}).RehearsalGate()
	defer g.Close()
	if got := aborts(func() { g.AskRound(t.Context(), nil, nil) }); !strings.Contains(got, "a rehearsal asks the host for nothing") {
		t.Errorf("got %q, want the end of the rehearsal", got)
	}
}
