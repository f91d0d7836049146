package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// plugged is a pool of the native dialect with the gates of a plugin that may read and write /srv, fetch and ask.
type plugged struct {
	*runtime.Pool
	policy *hostfuncs.Policy
	cold   []string // reasons of failed warm-ups
}

func plug(t *testing.T, wasm []byte, o *runtime.EngineOptions) *plugged {
	t.Helper()
	return plugWith(t, wasm, native.New(), runtime.Limits{}, o)
}

func plugWith(t *testing.T, wasm []byte, d runtime.Dialect, l runtime.Limits, o *runtime.EngineOptions) *plugged {
	t.Helper()
	o.Host = append(native.HostFuncs(), wasi.HostFuncs()...)
	e := newEngine(t, o)
	m, err := e.Compile(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	var lines []grant.Grant
	for _, line := range []string{"fs: write /srv/**", "net: GET https://a.example/**", "elicitation"} {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	p := &plugged{policy: h.Plugin(hostfuncs.Plugin{Name: "a", Digest: "sha256:1", Grants: grant.NewSet(lines...), Config: map[string]string{"city": "Oslo"}})}
	p.Pool = runtime.NewPool(m, d, &runtime.PoolOptions{
		Limits: l,
		Start:  func() (runtime.Gate, func()) { g := p.policy.StartGate(); return g, g.Close },
		Warm:   func() (runtime.Gate, func()) { g := p.policy.WarmGate(); return g, g.Close },
		Cold:   func(err error) { p.cold = append(p.cold, err.Error()) },
	})
	return p
}

func (p *plugged) call(t *testing.T, caller string, r runtime.Request) string {
	t.Helper()
	g := p.policy.NewGate(hostfuncs.Call{ID: caller, Principal: caller, Method: r.Method})
	defer g.Close()
	r.Caller = caller
	got, err := p.Pool.Call(context.Background(), r, g)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// Indices of the imports of reachingGuest.
const (
	fAsk = iota
	fAnswer
	fRandom
	fClock
	fEnviron
	fOpen
	fSleep
)

// reachingGuest returns a guest with this warm-up, whose response is {"n":"…"} with the two bytes at 24.
func reachingGuest(data string, warm ...[]byte) []byte {
	var m w.Module
	i, l := byte(w.I32), byte(w.I64)
	m.Import("sallyport", "call", []byte{i, i}, []byte{l})
	m.Import("sallyport", "write", []byte{i, i, i}, []byte{i})
	m.Import("wasi_snapshot_preview1", "random_get", []byte{i, i}, []byte{i})
	m.Import("wasi_snapshot_preview1", "clock_time_get", []byte{i, l, i}, []byte{i})
	m.Import("wasi_snapshot_preview1", "environ_get", []byte{i, i}, []byte{i})
	m.Import("wasi_snapshot_preview1", "path_open", []byte{i, i, i, i, i, l, l, i, i}, []byte{i})
	m.Import("wasi_snapshot_preview1", "poll_oneoff", []byte{i, i, i, i}, []byte{i})
	m.Memory(1, w.None)
	const answer = `{"result":{"n":"no"}}`
	m.Data(8, []byte(answer))
	m.Data(1024, []byte(data))
	m.Export("mcp_handle", m.Func([]byte{i}, []byte{i}, nil, numbers(1, 8, int32(len(answer))), w.Call(fAnswer), w.Drop, w.I32Const(0)))
	m.Export("mcp_warm", m.Func(nil, []byte{i}, nil, append([][]byte{w.I32Const(24), w.I32Const('o' | 'k'<<8), {0x3b, 0, 0}}, warm...)...))
	return m.Bytes()
}

// A warm-up cannot use anything of a call. If it tries, it gets an error, or is ended.
func TestPool_warmUp_reachesNothing(t *testing.T) {
	ask := func(request string) []byte {
		return reachingGuest(request, w.I32Const(1024), w.I32Const(int32(len(request))), w.Call(fAsk), []byte{0xa7})
	}
	open := func(path string, flags int32) []byte {
		return reachingGuest(path, numbers(3, 0, 1024, int32(len(path)), flags), w.I64Const(-1), w.I64Const(-1), numbers(0, 2048), w.Call(fOpen))
	}
	const year = 365 * 24 * 3600 * 1e9
	sleep := w.Code(w.I32Const(2064), w.I32Const(1), w.I32Store(0), w.I32Const(2072), w.I64Const(year), w.I64Store(0), numbers(2048, 4096, 1, 8192), w.Call(fSleep))
	const enosys, noent = "guest: it ended with 4294967244", "guest: it ended with 44"
	for name, c := range map[string]struct {
		wasm []byte
		want string // the reason of the failure; "" is success
	}{
		"asks the user":          {ask(`{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`), enosys},
		"fetches":                {ask(`{"method":"http/fetch","params":{"url":"https://a.example/"}}`), enosys},
		"creates a file":         {open("srv/a", 1), noent},
		"opens a file":           {open("srv", 0), noent},
		"takes random numbers":   {reachingGuest("", numbers(4096, 8), w.Call(fRandom)), "denied: random numbers of a warm-up would be the same in every call"},
		"sleeps for a year":      {reachingGuest("", sleep), ""},
		"reads the clock":        {reachingGuest("", w.I32Const(0), w.I64Const(1), w.I32Const(4096), w.Call(fClock)), ""},
		"reads its environment":  {reachingGuest("", numbers(4096, 8192), w.Call(fEnviron)), ""},
		"answers as if in calls": {reachingGuest("x", numbers(1, 1024, 1), w.Call(fAnswer)), enosys},
	} {
		t.Run(name, func(t *testing.T) {
			p := plug(t, c.wasm, &runtime.EngineOptions{})
			want := `{"n":"ok"}`
			if c.want != "" {
				want = `{"n":"no"}`
			}
			for range 2 {
				if got := p.call(t, "someone", runtime.Request{Method: "m"}); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			if got := strings.Join(p.cold, ", "); got != c.want {
				t.Errorf("got the reason %q, want %q", got, c.want)
			}
			other := plug(t, c.wasm, &runtime.EngineOptions{})
			other.call(t, "someone else", runtime.Request{Method: "m"})
			if !bytes.Equal(p.Image(), other.Image()) {
				t.Errorf("other host: got an image of %d bytes, want that of the first, of %d", len(other.Image()), len(p.Image()))
			}
		})
	}
}

// The image of a plugin of the Go PDK is the same in every host, for every first caller and way of restoring it, and
// its warm-up saves fuel in each call.
func TestPool_warmUp_ofAGoPluginIsTheSameInEveryHost(t *testing.T) {
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./examples/order")
	cmd.Dir, cmd.Env = filepath.Join("..", "pdk", "go"), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: got %v, want no error: %s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for i, r := range []runtime.Restore{runtime.RestoreFastest, runtime.RestoreCopy} {
		p := plug(t, wasm, &runtime.EngineOptions{Restore: r, CacheDir: t.TempDir()})
		caller := []string{"alice", "bob"}[i]
		p.call(t, caller, runtime.Request{Method: "plugin/describe"})
		p.call(t, "carol", runtime.Request{Method: "plugin/describe"})
		if len(p.cold) > 0 {
			t.Errorf("got errors of the warm-up %q, want none", p.cold)
		}
		if i == 0 {
			first = p.Image()
		}
		if got := p.Image(); len(got) == 0 || !bytes.Equal(got, first) {
			t.Errorf("%s: got an image of %d bytes, want that of the first host, of %d", r, len(got), len(first))
		}
	}
}

// goWarm calls keep of the Go guest, which returns the number of places with traces of other calls.
type goWarm struct {
	serve
	export string
}

func (d goWarm) WarmExport() string { return d.export }

// A hostile warm-up of a Go guest leaves no trace in the calls, and its failure has a reason.
func TestHostile_warmUpsOfAGoGuest(t *testing.T) {
	if raceEnabled {
		t.Skip("memory and time are other ones under the race detector")
	}
	wasm := goGuest(t)
	const dies, fuel = "trap: the guest trapped: unreachable", "limit: the call used up its 500000000 units of fuel"
	cache := t.TempDir()
	for export, want := range map[string]string{
		"spin":        fuel,
		"spin_beside": fuel,
		"allocate":    dies + ", after it was refused more than 32 MiB of memory (limits.memory)",
		"recurse":     fuel, // its stack grows in the heap
		"deadlock":    dies,
		"panics":      dies,
		"trap":        dies,
		"exit":        "exit: the guest exited with code 3",
		"sleep":       "guest: it ended with 1", // the clock stands still, so it takes no time
		"oversleep":   fuel,                     // it waits for a time after the first call, which the clock does not reach
	} {
		d := goWarm{func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			n, err := in.Call(ctx, "keep")
			return json.RawMessage(strconv.Itoa(int(int32(n)))), err
		}, export}
		p := plugWith(t, wasm, d, runtime.Limits{Memory: 32 << 20}, &runtime.EngineOptions{CacheDir: cache})
		for range 2 {
			if got := p.call(t, "someone", runtime.Request{}); got != "0" {
				t.Errorf("%s: got %s traces in a call, want 0", export, got)
			}
		}
		if got := strings.Join(p.cold, ", "); got != want {
			t.Errorf("%s: got the reason %q, want %q", export, got, want)
		}
	}
}
