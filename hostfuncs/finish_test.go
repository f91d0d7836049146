package hostfuncs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/audit"
)

// taker keeps the receipt.
type taker struct {
	listener
	got hostfuncs.Receipt
}

func (t *taker) Receipt(r hostfuncs.Receipt) { t.got = r }

func audited(t testing.TB, full bool) (*hostfuncs.Policy, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "audit")
	kept := audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: kept, FullReceipts: full, State: t.TempDir()})
	t.Cleanup(func() { h.Close(); kept.Close() })
	return h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1"}), dir
}

// Callers over HTTP learn how often, not what; the audit log has all.
func TestReceipt_countsForStrangers(t *testing.T) {
	for _, c := range []struct {
		principal string
		full      bool
		path      bool
	}{{"stdio:1", false, true}, {"socket:1", false, true}, {"token:x", false, false}, {"anonymous", false, false}, {"token:x", true, true}} {
		p, dir := audited(t, c.full)
		who := &taker{}
		g := p.NewGate(hostfuncs.Call{ID: "c1", Principal: c.principal, Method: "tools/call", Client: who})
		readFile(g.Files(), "/secret/place")
		g.Close()
		if got := string(who.got.JSON()); strings.Contains(got, "secret/place") != c.path || !strings.Contains(got, `"audit":"`) {
			t.Errorf("%s, full %v: %s", c.principal, c.full, got)
		}
		if who.got.Millis <= 0 || who.got.Millis > 60_000 {
			t.Errorf("it took %v ms", who.got.Millis)
		}
		if line, err := audit.Proves(dir, who.got.Audit); err == nil && !strings.Contains(string(line), "secret/place") {
			t.Errorf("the log has %s", line)
		}
	}
}

func BenchmarkReceipt(b *testing.B) {
	p, _ := audited(b, false)
	who := &taker{}
	for b.Loop() {
		g := p.NewGate(hostfuncs.Call{ID: "abcdefgh", Principal: "stdio:1000", Method: "tools/call", Tool: "echo", Client: who})
		g.Close()
		_ = who.got.JSON()
	}
}

// BenchmarkGate is what of BenchmarkReceipt is no receipt.
func BenchmarkGate(b *testing.B) {
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1"})
	for b.Loop() {
		p.NewGate(hostfuncs.Call{ID: "abcdefgh", Principal: "stdio:1000", Method: "tools/call", Tool: "echo"}).Close()
	}
}
