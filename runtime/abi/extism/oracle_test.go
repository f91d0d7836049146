package extism

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// guest is one module of the SDK with its calls.
type guest struct {
	file   string
	config map[string]string
	files  bool // it sees a folder as /mnt
	hosts  []string
	steps  []step

	cache    wazero.CompilationCache // of the SDK
	cacheDir string                  // of this host
}

func oracleGuests() []guest {
	run := func(inputs ...string) []step { return steps("run_test", inputs...) }
	vowels := []string{"hello world", "aaaaaa", "", "bbbbbbb", strings.Repeat("abcdefgh", 40000)}
	return []guest{
		{file: "alloc", steps: run("")},
		{file: "config", steps: run("")},
		{file: "config", config: map[string]string{"thing": "hello"}, steps: run("")},
		{file: "count_vowels", steps: steps("count_vowels", vowels...)},
		{file: "count_vowels", config: map[string]string{"vowels": "x"}, steps: steps("count_vowels", "xxx", "aaa")},
		{file: "count_vowels", steps: steps("no_such_export", "")},
		{file: "count_vowels_std", steps: steps("_start", "hello world")},
		{file: "exit", steps: steps("_start", "")},
		{file: "exit", config: map[string]string{"code": "-1"}, steps: steps("_start", "")},
		{file: "exit", config: map[string]string{"code": "500"}, steps: steps("_start", "")},
		{file: "exit", config: map[string]string{"code": "abc"}, steps: steps("_start", "")},
		{file: "exit", config: map[string]string{"code": "0"}, steps: steps("_start", "")},
		{file: "fail", steps: run("", "")},
		{file: "fs", files: true, steps: run("")},
		{file: "fs_std", files: true, steps: run("")},
		{file: "hello", steps: run("", "x")},
		{file: "hello_haskell", config: map[string]string{"greeting": "Howdy"}, steps: steps("testing", "John")},
		{file: "host", steps: run("")},
		{file: "host_memory", steps: run("Frodo")},
		{file: "host_multiple", steps: []step{{"say_green", "John Doe"}, {"say_purple", "Jane Doe"}}},
		{file: "http", steps: run("")},
		{file: "http", hosts: []string{"jsonplaceholder.*.com"}, steps: run("")},
		{file: "http_headers", steps: steps("http_get", `{"url":"https://a.example/x"}`)},
		{file: "http_headers", hosts: []string{"a.example"}, steps: steps("http_get", `{"url":"https://a.example/x","method":"get","headers":{"A":"b"}}`)},
		{file: "http_headers", hosts: []string{"a.example"}, steps: steps("http_get", `{"url":"https://a.example/empty"}`)},
		{file: "http_headers", hosts: []string{"a.example"}, steps: steps("http_get", `no JSON`)},
		{file: "input_offset", steps: steps("input_offset_length", "hello world")},
		{file: "lib", steps: steps("capitalize", "x")},
		{file: "log", steps: run("")},
		{file: "main", steps: run("benjamin")},
		{file: "nested.c.instr", steps: steps("_start", "hello world")},
		{file: "noop", steps: run("")},
		{file: "println", steps: run("ben")},
		{file: "read_write", files: true, config: map[string]string{"path": "/mnt/test.txt"},
			steps: []step{{"try_read", ""}, {"try_write", "hello hello!"}}},
		{file: "read_write", files: true, config: map[string]string{"path": "/mnt/none.txt"}, steps: steps("try_read", "")},
		{file: "replace", steps: run("a old b")},
		{file: "sleep", config: map[string]string{"duration": "0"}, steps: run("")},
		{file: "std_command", steps: steps("_start", "ben")},
		{file: "var", steps: run("", "", "")},
	}
}

func steps(export string, inputs ...string) []step {
	var all []step
	for _, in := range inputs {
		all = append(all, step{export, in})
	}
	return all
}

// Every guest of the Go SDK has the same output, or fails with the same code and text, in the SDK and in this host,
// with the same log messages and fetches.
func TestOracle_guestsMatchTheSDK(t *testing.T) {
	cache, cacheDir := oracle(t)
	client := *http.DefaultClient
	http.DefaultClient.Transport = pages{}
	t.Cleanup(func() { *http.DefaultClient = client })
	missing := everyGuest(t)
	var runs, equal int
	table := map[string]*tally{}
	for _, g := range oracleGuests() {
		delete(missing, g.file+".wasm")
		g.cache, g.cacheDir = cache, cacheDir
		ok := t.Run(fmt.Sprintf("%s/%d", g.file, runs), func(t *testing.T) {
			compare(t, g, sdkFile(t, "wasm/"+g.file+".wasm"))
		})
		runs++
		row := table[g.file]
		if row == nil {
			row = &tally{exports: map[string]bool{}}
			table[g.file] = row
		}
		if row.add(g.steps, ok); ok {
			equal++
		}
	}
	for file := range missing {
		t.Errorf("%s: got no call, want one", file)
	}
	for _, file := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-18s %2d calls, %2d equal  %s", file, table[file].calls, table[file].equal, strings.Join(slices.Sorted(maps.Keys(table[file].exports)), " "))
	}
	t.Logf("%d guests, %d ways to call them, %d equal, %d not called", len(everyGuest(t)), runs, equal, len(missing))
}

// tally counts the calls of a guest.
type tally struct {
	exports      map[string]bool
	calls, equal int
}

func (y *tally) add(steps []step, equal bool) {
	for _, s := range steps {
		y.exports[s.export] = true
	}
	y.calls += len(steps)
	if equal {
		y.equal += len(steps)
	}
}

// quiet silences the SDK, which writes its detections to standard error.
func quiet(t *testing.T) {
	sdk.SetLogLevel(sdk.LogLevelTrace)
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// oracle silences the SDK, and returns a cache for each host.
func oracle(t *testing.T) (wazero.CompilationCache, string) {
	quiet(t)
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() { _ = cache.Close(context.Background()) })
	return cache, compiled
}

// A plugin built with Extism's Go PDK has the same results in both.
func TestOracle_pdkPluginMatchesTheSDK(t *testing.T) {
	cache, cacheDir := oracle(t)
	compare(t, guest{cache: cache, cacheDir: cacheDir, steps: append(steps("describe", ""), steps("call",
		`{"params":{"name":"echo","arguments":{"a":[1,"ä"]}}}`, `{"params":{"name":"fail"}}`, `{"params":{"name":"code"}}`,
		`{"params":{"name":"both"}}`, `{"params":{"name":"text"}}`, `{"params":{"name":"silent"}}`, `{"params":{"name":"large"}}`,
		`no JSON`, ``, `{"params":{"name":"panic"}}`)...)}, built(t, "v1"))
}

// everyGuest returns the names of the SDK's modules.
func everyGuest(t *testing.T) map[string]bool {
	dir, err := sdkDir()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "wasm", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got the guests %q, %v; want some", files, err)
	}
	all := make(map[string]bool)
	for _, f := range files {
		all[filepath.Base(f)] = true
	}
	return all
}

func compare(t *testing.T, g guest, wasm []byte) {
	t.Helper()
	want, wantLog := sdkRun(t, g, wasm, folder(t, g.files))
	got, gotLog := ourRun(t, g, wasm, folder(t, g.files))
	if len(want) != len(got) {
		t.Fatalf("%d steps and %d in the SDK: %+v, %+v", len(got), len(want), got, want)
	}
	for i := range want {
		switch theirs := want[i].text; {
		case !want[i].failed:
		case ownWords(theirs):
			want[i].text, got[i].text, want[i].code, got[i].code = "", "", 0, 0
		case theirs == "" || strings.HasPrefix(theirs, "module closed with"): // only the code is compared
			want[i].text, got[i].text = "", ""
		}
		if want[i] != got[i] {
			t.Errorf("%s %.40q:\n%+v\nin the SDK:\n%+v", g.steps[i].export, g.steps[i].input, got[i], want[i])
		}
	}
	if !slices.Equal(wantLog, gotLog) {
		t.Errorf("logged %q\nin the SDK %q", gotLog, wantLog)
	}
}

// folder creates the folder that a guest sees as /mnt.
func folder(t *testing.T, wanted bool) string {
	if !wanted {
		return ""
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.txt"), []byte("hello world!"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ownWords reports whether a text is the engine's and not the guest's.
func ownWords(text string) bool {
	for _, part := range []string{"wasm error", "wasm stack trace", "unknown function", "load: ", "params, but passed"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// sdkRun calls a guest in the SDK.
func sdkRun(t *testing.T, g guest, wasm []byte, files string) ([]outcome, []string) {
	m := sdk.Manifest{Wasm: []sdk.Wasm{sdk.WasmData{Data: wasm}}, Config: g.config, AllowedHosts: g.hosts,
		Memory: &sdk.ManifestMemory{MaxHttpResponseBytes: -1, MaxVarBytes: -1}}
	if files != "" {
		m.AllowedPaths = map[string]string{files: "/mnt"}
	}
	ctx := context.Background()
	p, err := sdk.NewPlugin(ctx, m, sdk.PluginConfig{EnableWasi: true, EnableHttpResponseHeaders: true,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(g.cache),
		ModuleConfig:  wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime()}, sdkFuncs())
	if err != nil {
		return loadFailed(g, err), nil
	}
	defer func() { _ = p.Close(ctx) }()
	var logged []string
	p.SetLogger(func(level sdk.LogLevel, text string) {
		if level != sdk.LogLevelTrace && !strings.HasPrefix(text, "Calling") && !strings.HasPrefix(text, "Initializ") || strings.HasPrefix(text, "this is") {
			logged = append(logged, text)
		}
	})
	var all []outcome
	for _, s := range g.steps {
		all = append(all, sdkCall(p, s))
	}
	return all, logged
}

func sdkCall(p *sdk.Plugin, s step) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = outcome{failed: true, text: "load: " + fmt.Sprint(r)}
		}
	}()
	code, out, err := p.Call(s.export, []byte(s.input))
	o = outcome{failed: err != nil || code != 0, code: code}
	if err != nil {
		o.text = err.Error()
	}
	if !o.failed {
		o.output = string(out)
	}
	return o
}

// loadFailed returns the load error as the outcome of each step.
func loadFailed(g guest, err error) []outcome {
	var all []outcome
	for range g.steps {
		all = append(all, outcome{failed: true, text: "load: " + err.Error()})
	}
	return all
}

func sdkFuncs() []sdk.HostFunction {
	number := []sdk.ValueType{sdk.ValueTypePTR}
	text := func(name string, f func([]byte) []byte) sdk.HostFunction {
		return sdk.NewHostFunctionWithStack(name, func(_ context.Context, p *sdk.CurrentPlugin, stack []uint64) {
			in, err := p.ReadBytes(stack[0])
			if err != nil {
				panic(err)
			}
			if stack[0], err = p.WriteBytes(f(in)); err != nil {
				panic(err)
			}
		}, number, number)
	}
	upper := text("to_upper", bytes.ToUpper)
	upper.SetNamespace("host")
	return []sdk.HostFunction{upper, text("hostGreenMessage", green), text("hostPurpleMessage", purple),
		sdk.NewHostFunctionWithStack("mult", func(_ context.Context, _ *sdk.CurrentPlugin, stack []uint64) {
			stack[0] *= stack[1]
		}, []sdk.ValueType{sdk.ValueTypePTR, sdk.ValueTypePTR}, number)}
}

func green(p []byte) []byte  { return append([]byte("green:"), p...) }
func purple(p []byte) []byte { return append([]byte("purple:"), p...) }

// ourRun calls a guest in this host.
func ourRun(t *testing.T, g guest, wasm []byte, files string) ([]outcome, []string) {
	w := newWorld(t, files)
	w.config = g.config
	if len(g.hosts) > 0 {
		w.web = pages{}
	}
	s := &script{steps: g.steps}
	p, err := cachedPool(t, g.cacheDir, wasm, s, runtime.Limits{Output: 1 << 20}, ourFuncs()...)
	if err != nil {
		return loadFailed(g, err), nil
	}
	if _, err := p.Call(context.Background(), runtime.Request{}, w); err != nil {
		return loadFailed(g, err), nil
	}
	return s.got, w.logged(t)
}

// logged returns the texts of the log messages that the world received.
func (w *world) logged(t *testing.T) []string {
	var all []string
	for _, asked := range w.asked {
		if params, ok := strings.CutPrefix(asked, "notifications/message "); ok {
			all = append(all, logText(t, params))
		}
	}
	return all
}

func ourFuncs() []runtime.HostFunc {
	i64 := []byte{runtime.I64}
	text := func(module, name string, f func([]byte) []byte) runtime.HostFunc {
		return hostFunc(module, name, i64, runtime.I64, func(_ context.Context, c *call, _ runtime.Memory, stack []uint64) {
			stack[0] = c.give(f(c.text("a text", stack[0], 1<<20)))
		})
	}
	return []runtime.HostFunc{text("host", "to_upper", bytes.ToUpper),
		text("extism:host/user", "hostGreenMessage", green), text("extism:host/user", "hostPurpleMessage", purple),
		hostFunc("extism:host/user", "mult", []byte{runtime.I64, runtime.I64}, runtime.I64,
			func(_ context.Context, _ *call, _ runtime.Memory, stack []uint64) { stack[0] *= stack[1] })}
}

// pages is the web of these tests.
type pages struct{}

func (pages) RoundTrip(r *http.Request) (*http.Response, error) {
	var body string
	switch r.URL.Host {
	case "jsonplaceholder.typicode.com":
		body = `{"userId":1,"id":1}`
	case "a.example":
		if r.URL.Path != "/empty" {
			body = r.Method + " " + r.Header.Get("A")
		}
	default:
		return nil, errors.New("no such host")
	}
	return &http.Response{StatusCode: 203, Status: "203", Body: io.NopCloser(strings.NewReader(body)), Request: r,
		Header: http.Header{"Content-Type": {"text/plain"}, "X-Two": {"a", "b"}}}, nil
}
