package registry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

const boundManifest = `{"tools":[{"name":"get","inputSchema":{"type":"object","properties":{"owner":{"type":"string"},"try":{"type":"string"}}}},
	{"name":"list","inputSchema":{"type":"object"}}],
	"prompts":[{"name":"about","arguments":[{"name":"owner"}]}],
	"resourceTemplates":[{"name":"o","uriTemplate":"forge://repos/{owner}"}]}`

// asking is a built-in plugin that fetches the URL params.…try, and answers with the reason of a denial.
func asking(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	gate := runtime.GateFrom(ctx)
	_, err := gate.Ask(ctx, "http/fetch", json.RawMessage(`{"url":"http://forge.example/repos/me/x"}`), noStreams{})
	var ask *runtime.AskError
	if !errors.As(err, &ask) {
		return nil, errors.New("it was allowed to go out")
	}
	return json.Marshal(map[string]string{"kind": string(ask.Kind), "why": ask.Message})
}

type noStreams struct{ runtime.Streams }

func grantsOf(t testing.TB, lines ...string) *grant.Set {
	t.Helper()
	s := grant.NewSet()
	for _, l := range lines {
		g, err := grant.ParseLine(l)
		if err != nil {
			t.Fatal(err)
		}
		s = s.With(g)
	}
	return s
}

// Allowed effects end as "unavailable", since no name resolves; denied ones as "denied".
func TestGrants_followTheArgumentsOfTheCall(t *testing.T) {
	h := hostfuncs.NewHost(&hostfuncs.Options{Web: egress.Options{Resolver: nowhere{}}})
	t.Cleanup(h.Close)
	r := open(t, Options{Host: h, Plugins: map[string]Config{
		"forge": {Grants: grantsOf(t, "net: GET http://forge.example/repos/{args.owner}/**")},
	}})
	if err := r.AddGo("forge", []byte(boundManifest), asking); err != nil {
		t.Fatal(err)
	}
	s := r.Snapshot()
	tool := func(name string) func(string) (json.RawMessage, error) {
		return func(params string) (json.RawMessage, error) {
			x, _ := s.Tool(name)
			return x.Call(t.Context(), catalog.Call{Params: json.RawMessage(params)})
		}
	}
	prompt, _ := s.Prompt("forge-about")
	read, _ := s.Resource("forge://repos/me")
	for _, tt := range []struct {
		name, params string
		call         func(string) (json.RawMessage, error)
		want         string
	}{
		{"this owner", `{"arguments":{"owner":"me"}}`, tool("forge-get"), "unavailable"},
		{"another", `{"arguments":{"owner":"you"}}`, tool("forge-get"), "denied"},
		{"in another argument", `{"arguments":{"try":"me"}}`, tool("forge-get"), "denied"},
		{"none", `{}`, tool("forge-get"), "denied"},
		{"twice", `{"arguments":{"owner":"me","owner":"you"}}`, tool("forge-get"), "denied"},
		{"a tool without the argument", `{"arguments":{"owner":"me"}}`, tool("forge-list"), "denied"},
		{"a prompt", `{"arguments":{"owner":"me"}}`, func(p string) (json.RawMessage, error) {
			return answerOf(prompt.Get(t.Context(), catalog.Call{Params: json.RawMessage(p)}))
		}, "unavailable"},
		{"a completion", `{"ref":{"name":"about"},"argument":{"name":"owner","value":"me"}}`, func(p string) (json.RawMessage, error) {
			return answerOf(prompt.Complete(t.Context(), catalog.Call{Params: json.RawMessage(p)}))
		}, "denied"},
		{"a template", `{"uri":"forge://repos/me"}`, func(p string) (json.RawMessage, error) {
			return answerOf(read.Read(t.Context(), catalog.Call{Params: json.RawMessage(p)}))
		}, "unavailable"},
		{"another URI", `{"uri":"forge://repos/you"}`, func(p string) (json.RawMessage, error) {
			return answerOf(read.Read(t.Context(), catalog.Call{Params: json.RawMessage(p)}))
		}, "denied"},
	} {
		raw, err := tt.call(tt.params)
		if err != nil || !strings.Contains(string(raw), `"kind":"`+tt.want+`"`) {
			t.Errorf("%s: got %s, %v, want %s", tt.name, raw, err, tt.want)
		}
	}
}

func TestWants_ungrantableAreReported(t *testing.T) {
	o := options(t, t.TempDir())
	guest{manifest: `{"wants":[{"net":"example.com"}]}`, answer: says("x")}.write(t, o.Dir, "p.wasm")
	if w := status(open(t, o), "p").Warnings; len(w) != 1 || !strings.HasPrefix(w[0], `the want {"net":"example.com"} cannot be granted: `) {
		t.Errorf("got %q, want number = 1, w[0] beginning with \"the want {\"net\":\"example.com\"} cannot be granted: \"", w)
	}
}

// A configured plugin without a file, and a plugin without grants, are logged as information only.
func TestReport_logsIntendedStatesAsInformation(t *testing.T) {
	o := options(t, t.TempDir())
	guest{manifest: `{"resourceTemplates":[{"uriTemplate":"file:///{+path}","name":"all"}]}`, answer: says("x")}.write(t, o.Dir, "p.wasm")
	o.Plugins = map[string]Config{"p": {}, "elsewhere": {}, "lost": {Source: "/nowhere/at/all.wasm"}}
	var log strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	r := open(t, o)
	closeNow(t, r)
	for part, level := range map[string]string{"there is no file elsewhere.wasm": "INFO", "needs an fs grant": "INFO", "there is no file all.wasm": "ERROR"} {
		line, _, _ := strings.Cut(log.String()[strings.LastIndex(log.String()[:max(strings.Index(log.String(), part), 0)], "level="):], " ")
		if line != "level="+level || !strings.Contains(log.String(), part) {
			t.Errorf("%s: %s, want %s\n%s", part, line, level, log.String())
		}
	}
	if w := status(r, "p").Warnings; len(w) != 1 || status(r, "elsewhere").State != StateFailed {
		t.Errorf("got %+v, want one warning of p and elsewhere in state %v", r.Plugins(), StateFailed)
	}
}

// A packed module over a static limit, or with more host memory beside its own than it may have, is an error at load,
// also for a cached module.
func TestLimits_ofTablesAndSegmentsAreCheckedAtLoad(t *testing.T) {
	var table, references wasmtest.Module
	table.Table(2_000_000, 2_000_000)
	references.Table(0, 0)
	references.ElementsRaw(append(wasmtest.Code([]byte{1, 0}, wasmtest.U32(900_000)), make([]byte, 900_000)...)...)
	for name, test := range map[string]struct {
		module *wasmtest.Module
		want   string
	}{
		"table":      {&table, "over a static limit: the number of table entries is 2000000, at most 1000000 is allowed"},
		"references": {&references, "the module starts with 64 KiB of memory and needs 50400000 bytes more for its tables, element segments and globals, and limits.memory is 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, t.TempDir())
			o.State = t.TempDir()
			o.Defaults.Memory = 16 << 20
			test.module.Memory(1, 1)
			test.module.Custom(wasmbin.ManifestSection, []byte(tools("say")))
			test.module.Export("mcp_handle", test.module.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.I32Const(0)))
			old(t, writeFile(t, o.Dir, "p.wasm", test.module.Bytes()))
			for range 2 {
				r := open(t, o)
				if s := status(r, "p"); s.State != StateFailed || s.Error != test.want {
					t.Errorf("got %+v, want state failed, error = %v", s, test.want)
				}
				closeNow(t, r)
			}
		})
	}
}

// A limit below the module's initial memory is an error at load, also for a cached module, and changes nothing of a
// serving plugin.
func TestLimits_belowTheInitialMemoryAreRefused(t *testing.T) {
	o := options(t, t.TempDir())
	o.State = t.TempDir()
	old(t, sayer("hello").write(t, o.Dir, "p.wasm"))
	const want = "the module starts with 64 KiB of memory, and limits.memory is 32 KiB"
	small := map[string]Config{"p": {Limits: runtime.Limits{Memory: 32 << 10}}}
	for range 2 {
		o.Plugins = small
		r := open(t, o)
		if s := status(r, "p"); s.State != StateFailed || s.Error != want || has(r, "p-say") {
			t.Errorf("got %+v, want state failed, error = %v, no tool p-say", s, want)
		}
		if err := r.Configure(nil); err != nil || !has(r, "p-say") {
			t.Errorf("got %v, %+v, want the tool p-say", err, status(r, "p"))
		}
		if err := r.Configure(small); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a new configuration: got %v, want %q in it", err, want)
		}
		if err := r.Reconfigure(nil, runtime.Limits{Memory: 32 << 10}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("new defaults: got %v, want %q in it", err, want)
		}
		wantSays(t, r, "p-say", "hello")
		closeNow(t, r)
	}
}

func TestGrants_unfitAreRefused(t *testing.T) {
	r := open(t, Options{Plugins: map[string]Config{"forge": {Grants: grantsOf(t, "net: GET http://forge.example/{args.nobody}")}}})
	if err := r.AddGo("forge", []byte(boundManifest), asking); err != nil {
		t.Fatal(err)
	}
	var found Status
	for _, p := range r.Plugins() {
		if p.Name == "forge" {
			found = p
		}
	}
	if found.State != StateFailed || !strings.Contains(found.Error, `its grants do not fit: no tool of the plugin has the arguments of this line`) {
		t.Errorf("got status %+v, want state %v as its grants do not fit", found, StateFailed)
	}
	good := map[string]Config{"forge": {Grants: grantsOf(t, "net: GET http://forge.example/{args.owner}")}}
	if err := r.Configure(good); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Snapshot().Tool("forge-get"); !ok {
		t.Errorf("a configuration that fits: got %+v, want forge-get", r.Plugins())
	}
	bad, err := grant.Parse([]grant.Node{{Line: 7, Value: "net: GET http://forge.example/{args.nobody}"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Configure(map[string]Config{"forge": {Grants: bad}}); err == nil || !strings.Contains(err.Error(), "line 7:") {
		t.Errorf("a configuration that does not fit: got %v, want an error of line 7", err)
	}
	if _, ok := r.Snapshot().Tool("forge-get"); !ok {
		t.Errorf("after a configuration that does not fit: got %+v, want forge-get", r.Plugins())
	}
}

// The same for a plugin file that is loaded after the configuration.
func TestGrants_unfitAreReportedOfALaterFile(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("x")}.write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Plugins = map[string]Config{"p": {Grants: grantsOf(t, "fs: read /srv/{args.nobody}")}}
	r := open(t, o)
	for _, p := range r.Plugins() {
		if p.Name == "p" && (p.State != StateFailed || !strings.Contains(p.Error, "no tool of the plugin")) {
			t.Errorf("got status %+v, want state %v as no tool has the arguments", p, StateFailed)
		}
	}
	if err := os.Remove(filepath.Join(dir, "p.wasm")); err != nil {
		t.Fatal(err)
	}
}

// nowhere resolves no name.
type nowhere struct{}

func (nowhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}
