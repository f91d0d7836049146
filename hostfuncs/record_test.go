package hostfuncs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// taker keeps the receipt.
type taker struct {
	listener
	got receipt.Receipt
}

func (t *taker) Receipt(r receipt.Receipt) { t.got = r }

func audited(t testing.TB, full bool) (_ *hostfuncs.Policy, log *audit.Log, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	log = audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log, FullReceipts: full, State: t.TempDir()})
	t.Cleanup(func() { h.Close(); log.Close() })
	return h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1"}), log, dir
}

// TestReceipt_remoteCallersGetCountsOnly checks that HTTP callers get counts without targets, and the audit log has
// both.
func TestReceipt_remoteCallersGetCountsOnly(t *testing.T) {
	for _, c := range []struct {
		principal string
		full      bool
		path      bool
	}{{"stdio:1", false, true}, {"socket:1", false, true}, {"token:x", false, false}, {"anonymous", false, false}, {"token:x", true, true}} {
		p, log, dir := audited(t, c.full)
		who := &taker{}
		g := p.NewGate(hostfuncs.Call{ID: "c1", Principal: c.principal, Method: "tools/call", Client: who})
		readFile(g.Files(), "/secret/place")
		g.Close()
		if got := string(who.got.JSON()); strings.Contains(got, "secret/place") != c.path || !strings.Contains(got, `"audit":"`) {
			t.Errorf("%s, full %v: got %s, want the path in it: %t, and an audit mark", c.principal, c.full, got, c.path)
		}
		if who.got.Millis <= 0 || who.got.Millis > 60_000 {
			t.Errorf("got a duration of %v ms, want one over 0 and at most 60000", who.got.Millis)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if line, err := audit.Proves(dir, who.got.Audit); err != nil || !strings.Contains(string(line), "secret/place") {
			t.Errorf("log: got %s, %v, want secret/place in it", line, err)
		}
	}
}

// TestAudit_warmUpThatTouchesNothingHasNoLine checks that a plugin's start is a line of the audit log, and its warm-up
// only if it touched something.
func TestAudit_warmUpThatTouchesNothingHasNoLine(t *testing.T) {
	for path, want := range map[string]string{"": "start", "/secret/place": "start warm"} {
		dir := filepath.Join(t.TempDir(), "audit")
		log := audit.New(dir, audit.Options{})
		h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log, State: t.TempDir()})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1"})
		p.StartGate().Close()
		g := p.WarmGate()
		if path != "" {
			readFile(g.Files(), path)
		}
		g.Close()
		h.Close()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		var calls []string
		err := audit.Read(dir, func(l audit.Line) bool {
			if call, ok := jsonraw.String(jsonraw.Get(l.Text, "call")); ok {
				calls = append(calls, call)
			}
			return true
		})
		if got := strings.Join(calls, " "); got != want || err != nil {
			t.Errorf("a warm-up that reads %q: got lines of %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestReceipt_dryRunReportsHeldEffects checks that a dry run reports its effects, including those of nested calls, as
// counts to remote callers and with targets to local ones.
func TestReceipt_dryRunReportsHeldEffects(t *testing.T) {
	home := world(t)
	for principal, want := range map[string]string{
		"token:x": `"would":{"POST":2,"mkdir":1,"write":2}`,
		"stdio:1": `"would":["write ~/work/a.txt (1 bytes)","mkdir ~/work/new","write ~/work/new/b.txt (2 bytes)","POST http://site.example/x","POST http://site.example/x"]`,
	} {
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, Audit: audit.New(filepath.Join(t.TempDir(), "audit"), audit.Options{}), State: t.TempDir()})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, "fs: write ~/work/**", "net: POST http://site.example/x")})
		who := &taker{}
		g := p.NewGate(hostfuncs.Call{ID: "c1", Principal: principal, Method: "tools/call", Client: who, DryRun: true})
		tree := g.Files()
		tree.Mkdir(home + "/work/new")
		for path, text := range map[string]string{"a.txt": "x", "new/b.txt": "xy"} {
			if e := writeFile(tree, home+"/work/"+path, text); e != 0 {
				t.Fatalf("%s: got errno %v, want success", path, e)
			}
		}
		for range 2 {
			fetch(t, g, `{"method":"POST","url":"http://site.example/x"}`)
		}
		if err := g.Land(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.Close()
		if got := string(who.got.JSON()); !strings.Contains(got, want) {
			t.Errorf("%s: %s lacks %s", principal, got, want)
		}
		h.Close()
	}
}

func BenchmarkReceipt(b *testing.B) {
	p, _, _ := audited(b, false)
	who := &taker{}
	for b.Loop() {
		g := p.NewGate(hostfuncs.Call{ID: "abcdefgh", Principal: "stdio:1000", Method: "tools/call", Tool: "echo", Client: who})
		g.Close()
		_ = who.got.JSON()
	}
}

// BenchmarkGate measures the part of BenchmarkReceipt without the receipt.
func BenchmarkGate(b *testing.B) {
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1"})
	for b.Loop() {
		p.NewGate(hostfuncs.Call{ID: "abcdefgh", Principal: "stdio:1000", Method: "tools/call", Tool: "echo"}).Close()
	}
}

// The observer of calls gets the record of each, with its targets, also if the caller gets counts.
func TestReceipt_isObserved(t *testing.T) {
	log := audit.New(filepath.Join(t.TempDir(), "audit"), audit.Options{})
	var got []receipt.Receipt
	var by []receipt.Caller
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log, State: t.TempDir(), Ended: func(r receipt.Receipt, c receipt.Caller) { got, by = append(got, r), append(by, c) }})
	defer func() { h.Close(); log.Close() }()
	g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{ID: "c1", Principal: "token:x", Method: "tools/call", Tool: "t"})
	readFile(g.Files(), "/secret/place")
	g.Ended(receipt.OK)
	g.Close()
	if len(got) != 1 || got[0].Plugin != "demo" || got[0].Outcome != receipt.OK || len(got[0].Denials) != 1 || got[0].Millis <= 0 || by[0].Method != "tools/call" || by[0].Tool != "t" {
		t.Errorf("got %+v by %+v, want one record of demo's tool t with one denial and its duration", got, by)
	}
}
