package hostfuncs

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// TestFrozen_advancesBySleepsAndReadings checks that the clock advances by sleeps and readings, within its range.
func TestFrozen_advancesBySleepsAndReadings(t *testing.T) {
	f := &frozen{base: time.Second}
	if a, b := f.monotonic(), f.monotonic(); a != int64(time.Second+look) || b != a+int64(look) {
		t.Errorf("monotonic: got %d, %d, want %d, %d", a, b, int64(time.Second+look), a+int64(look))
	}
	before := f.now()
	if wait := f.sleep(time.Hour); wait != 0 || f.now().Sub(before) != time.Hour+look {
		t.Errorf("sleep of an hour: got a wait of %v and an advance of %v, want 0 and %v", wait, f.now().Sub(before), time.Hour+look)
	}
	if wait := f.sleep(math.MaxInt64); wait != math.MaxInt64 || f.now().Sub(before) > 2*time.Hour {
		t.Errorf("sleep for ever: got %v, want %v and no advance", wait, time.Duration(math.MaxInt64))
	}
	for range 5 {
		f.sleep(math.MaxInt64 - 1)
	}
	if f.monotonic() < 0 || f.now().Year() < 2100 || f.passed != maxPassed {
		t.Errorf("got %v passed, want the end of the range, %v", f.passed, maxPassed)
	}
}

// TestPolicy_clockOfACallIsNotBehindTheWarmUp checks that the monotonic clock never runs backwards from a start through
// a warm-up to a call, however long the guest sleeps and however often it looks.
func TestPolicy_clockOfACallIsNotBehindTheWarmUp(t *testing.T) {
	h := NewHost(nil)
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1", Frozen: true})
	start, warm, call := p.StartGate(), p.WarmGate(), p.NewGate(Call{})
	defer start.Close()
	defer warm.Close()
	defer call.Close()
	var last int64
	for i, g := range []*Gate{start, warm, call} {
		var o wasi.Options
		g.policy.plugin.settle(&o)
		first := o.Monotonic()
		if first < last {
			t.Errorf("phase %d: got %v at its begin, want at least %v", i, time.Duration(first), time.Duration(last))
		}
		o.Sleep(1000 * time.Hour)
		if last = o.Monotonic(); last < first {
			t.Errorf("phase %d: got %v after a sleep, want at least %v", i, time.Duration(last), time.Duration(first))
		}
	}
	if last < int64(1000*time.Hour) {
		t.Errorf("a call: got %v after a sleep of 1000 h, want more", time.Duration(last))
	}
}

// TestPolicy_startHasConfigurationAndNoGrants checks that a plugin starts with its configuration and without grants.
func TestPolicy_startHasConfigurationAndNoGrants(t *testing.T) {
	g, err := grant.ParseLine("net: GET https://a.example/**")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHost(nil)
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1", Grants: grant.NewSet(g), Config: map[string]string{"k": "v"}})
	start, call := p.StartGate(), p.NewGate(Call{})
	defer start.Close()
	defer call.Close()
	if v, ok := start.Config("k"); !ok || v != "v" {
		t.Errorf("got %q, %v, want v", v, ok)
	}
	if start.policy.Grants() != nil || call.policy.Grants() == nil {
		t.Errorf("grants: got start %v, call %v, want none at the start, some in the call", start.policy.Grants(), call.policy.Grants())
	}
	lo, hi, ok := start.Seed()
	again := p.StartGate()
	defer again.Close()
	if lo2, hi2, _ := again.Seed(); !ok || lo != lo2 || hi != hi2 {
		t.Errorf("seed of the start: got %d, %d, want %d, %d", lo2, hi2, lo, hi)
	}
	if _, _, ok := call.Seed(); ok {
		t.Error("seed of a call: got a fixed one, want none")
	}
	call.Used(runtime.Usage{Fuel: 7, Memory: 8})
	if r := call.Receipt(); r.Fuel != 7 || r.Memory != 8 {
		t.Errorf("got receipt %+v, want fuel 7 and memory 8", r)
	}
}

// TestPolicy_startDeniesEveryMethod checks that all requests of a guest during its start are answered and denied. A
// gate that lacks parts of a call's gate would panic there.
func TestPolicy_startDeniesEveryMethod(t *testing.T) {
	h := NewHost(nil)
	defer h.Close()
	var lines []grant.Grant
	for _, line := range []string{"net: GET https://a.example/**", "fs: write /srv/**", "kv: 1MiB", "secret: TOKEN {reveal: true}", "elicitation", "sampling", "tools: b-run {any: true}"} {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1", Grants: grant.NewSet(lines...)})
	g := p.StartGate()
	defer g.Close()
	out := g.newOutputs()
	for _, o := range []*output{&out.stdout, &out.stderr} {
		if _, err := o.Write([]byte("starting\n")); err != nil {
			t.Error(err)
		}
	}
	tree := g.WASI().Tree()
	if _, e := tree.Open("/srv/a", wasi.OpenOptions{Read: true}); e == wasi.ESUCCESS {
		t.Error("open at the start: got success, want a refusal")
	}
	params := json.RawMessage(`{"url":"https://a.example/","method":"GET","key":"k","value":1,"name":"TOKEN","message":"m","data":"d","level":"info","progress":1,
		"uri":"test://a","requestedSchema":{"type":"object","properties":{}},"messages":[],"maxTokens":1,"arguments":{}}`)
	for name := range newEffects(families()).methods {
		answer, err := g.Ask(t.Context(), name, params, noStreams{})
		var refused *runtime.AskError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want success or an AskError", name, err)
		}
		switch name {
		case "http/fetch", "kv/get", "kv/set", "secrets/get", "elicitation/create", "sampling/createMessage", "tools/call":
			if err == nil {
				t.Errorf("%s: got %s, want a refusal", name, answer)
			}
			if name == "http/fetch" && err.Error() != `denied: plugin "a" may not GET https://a.example/: nothing is granted while a plugin starts, only in its calls` {
				t.Error(err)
			}
		}
	}
}

// TestPolicy_warmUpHasNothingOfCall checks that a warm-up has nothing of a call: no grants, no real clock, no random
// numbers. Its configuration is that of the start, which is in the plugin's memory already.
func TestPolicy_warmUpHasNothingOfCall(t *testing.T) {
	var lines []grant.Grant
	for _, line := range []string{"net: GET https://a.example/**", "fs: write /srv/**", "kv: 1MiB", "elicitation", "sampling"} {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	h := NewHost(nil)
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a", Digest: "sha256:1", Grants: grant.NewSet(lines...), Config: map[string]string{"k": "v"}})
	start, warm, again := p.StartGate(), p.WarmGate(), p.WarmGate()
	defer start.Close()
	defer warm.Close()
	defer again.Close()
	if warm.policy.Grants() != nil {
		t.Errorf("got grants %v in the warm-up, want none", warm.policy.Grants())
	}
	for _, method := range []string{"http/fetch", "kv/get", "elicitation/create", "sampling/createMessage"} {
		answer, err := warm.Ask(t.Context(), method, json.RawMessage(`{"url":"https://a.example/","key":"k","message":"m","requestedSchema":{"type":"object","properties":{}},"messages":[],"maxTokens":1}`), noStreams{})
		if err == nil {
			t.Errorf("%s: got %s, want a refusal", method, answer)
		}
	}
	if _, e := warm.WASI().Tree().Open("/srv/a", wasi.OpenOptions{Write: true, Create: true}); e == wasi.ESUCCESS {
		t.Error("open in the warm-up: got success, want a refusal")
	}
	if v, ok := warm.Config("k"); !ok || v != "v" {
		t.Errorf("got config %q, want that of the start", v)
	}
	var first, second, begun wasi.Options
	warm.policy.plugin.settle(&first)
	again.policy.plugin.settle(&second)
	start.policy.plugin.settle(&begun)
	if a, b := first.Now(), second.Now(); !a.Equal(b) || a.Year() != 2026 {
		t.Errorf("clocks of two warm-ups: got %v and %v, want the same in 2026", a, b)
	}
	if a, b := first.Monotonic(), begun.Monotonic(); a <= b {
		t.Errorf("monotonic clock: got %d in the warm-up after %d in the start, want an advance", a, b)
	}
	var aborted any
	func() {
		defer func() { aborted = recover() }()
		_, _ = first.Random.Read(make([]byte, 8))
	}()
	if err, ok := aborted.(error); !ok || err.Error() != "denied: random numbers of a warm-up would be the same in every call" {
		t.Errorf("got %v for a random number, want a refusal that ends the warm-up", aborted)
	}
}

func TestPolicy_logsFailedWarmUp(t *testing.T) {
	var log bytes.Buffer
	h := NewHost(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer h.Close()
	h.Plugin(Plugin{Name: "a"}).WarmUpFailed(&runtime.EndError{Kind: runtime.KindTrap, Message: "the guest trapped: unreachable", Stack: "main.warm"})
	want := `level=WARN msg="the plugin's warm-up failed: its calls begin with the state from before it" plugin=a reason="trap: the guest trapped: unreachable" stack=main.warm`
	if got := log.String(); !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// noStreams are the streams of a guest that uses none.
type noStreams struct{ runtime.Streams }
