package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// twice runs a call that performs do and then asks its client, and replays it with the answer. It returns both
// results of do, which should be equal. between runs between the two.
func twice(t *testing.T, f *office, do func(*hostfuncs.Gate) string, between func()) (first, second string) {
	t.Helper()
	run := func(p *person, j *journal.Journal) (string, error) {
		policy := f.host.Plugin(f.plugin)
		if err := policy.Bind(j); err != nil {
			t.Fatal(err)
		}
		g := policy.NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:1", Client: p, Journal: j})
		defer g.Close()
		done := do(g)
		_, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil)
		return done, err
	}
	j := journal.New()
	first, err := run(&person{suspend: true}, j)
	if !errors.Is(err, hostfuncs.ErrSuspended) {
		t.Fatalf("suspended: got %q, %v, want %v", first, err, hostfuncs.ErrSuspended)
	}
	between()
	again, err := journal.Decode(j.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	second, err = run(&person{answers: map[string]string{"elicitation/create": accepted}}, again)
	if err != nil {
		t.Errorf("run again: got %q, %v after %q, want success", second, err, first)
	}
	return first, second
}

// TestRecall_onceHoldsInReplayOfRequest checks that a one-time answer used by a call applies in its replays too: the
// request is not sent again, and there is no new question.
func TestRecall_onceHoldsInReplayOfRequest(t *testing.T) {
	var sent int
	site := counting(t, &sent)
	f := newOffice(t, false, hostfuncs.Options{}, nil, "elicitation", "net: POST "+site+"/** {ask: true}")
	if err := f.fetch(post(site+"/x", "body")); err == nil {
		t.Fatal("a request without consent: got success, want an error")
	}
	f.allow(f.waiting().ID, store.Answer{Once: true})
	first, second := twice(t, f, func(g *hostfuncs.Gate) string {
		a, err := fetch(t, g, post(site+"/x", "body"))
		if err != nil {
			return err.Error()
		}
		return a.text
	}, func() {})
	if first != "body" || second != first || sent != 1 {
		t.Errorf("got %q, then %q, %d requests sent, want body twice, 1 request sent", first, second, sent)
	}
}

// TestRecall_onceHoldsInReplayOfFile checks the same for files, where the answer is used up when the file is first
// opened.
func TestRecall_onceHoldsInReplayOfFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a"), []byte("A"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newOffice(t, false, hostfuncs.Options{}, []string{"fs: read " + dir + "/**"}, "elicitation")
	look := func(g *hostfuncs.Gate) string {
		text, e := readFile(g.Files(), filepath.Join(dir, "a"))
		if e != wasi.ESUCCESS {
			return e.Error()
		}
		return text
	}
	if got := look(f.call()); got == "A" {
		t.Fatalf("a read without consent: got %q, want a refusal", got)
	}
	f.allow(f.waiting().ID, store.Answer{Once: true})
	if first, second := twice(t, f, look, func() {}); first != "A" || second != first {
		t.Errorf("got %q, then %q, want A twice", first, second)
	}
}

// TestRecall_answerBetweenRunsHoldsForLaterCalls checks that an answer between two runs applies to later calls only.
func TestRecall_answerBetweenRunsHoldsForLaterCalls(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	f := newOffice(t, false, hostfuncs.Options{Store: kept}, []string{"kv: 1KiB"}, "elicitation")
	look := func(g *hostfuncs.Gate) string { return ask(t, g, "kv/get", `{"key":"k"}`) }
	first, second := twice(t, f, look, func() { f.allow(f.waiting().ID, store.Answer{}) })
	if second != first {
		t.Errorf("got %q, then %q, want the same twice", first, second)
	}
	if first, second = twice(t, f, look, func() {}); first != `{"value":null,"version":0}` || second != first {
		t.Errorf("with a lasting answer: got %q, then %q, want a null value twice", first, second)
	}
	var revoke string
	grants, err := f.answers.Grants(t.Context())
	if err != nil || len(grants) != 1 {
		t.Fatalf("got answers %+v, %v, want one", grants, err)
	}
	revoke = grants[0].ID
	if _, second = twice(t, f, look, func() {
		if _, err := f.answers.Revoke(t.Context(), revoke); err != nil {
			t.Error(err)
		}
	}); second != `{"value":null,"version":0}` {
		t.Errorf("revoked between: got %q, want a null value", second)
	}
}

// TestRecall_denialIsSameInReplay checks that a denial without a question is the same in a replay, including the
// suggested line.
func TestRecall_denialIsSameInReplay(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	f := newOffice(t, false, hostfuncs.Options{Store: kept}, []string{"fs: read /srv/**"}, "elicitation")
	look := func(g *hostfuncs.Gate) string {
		_, err := g.Ask(t.Context(), "kv/get", json.RawMessage(`{"key":"k"}`), nil)
		var refused *runtime.AskError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		text, err := json.Marshal(refused)
		if d := g.Denials(); err != nil || len(d) != 1 {
			t.Fatalf("got denials %+v, %v, want one", d, err)
		}
		return string(text) + " " + refused.Hint + " " + g.Denials()[0].Hint
	}
	first, second := twice(t, f, look, func() {})
	if !strings.HasSuffix(first, " kv: 1MiB kv: 1MiB") || second != first {
		t.Errorf("got %q, then %q, want the hint kv: 1MiB in both", first, second)
	}
}

// TestRecall_closedHostRecordsNoOutcome checks that a host that closes while it reads an answer records no outcome and
// no partial body.
func TestRecall_closedHostRecordsNoOutcome(t *testing.T) {
	reading := make(chan struct{})
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that its client is gone
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		close(reading)
		<-r.Context().Done()
	}).URL
	var parts [][]byte
	j := journal.New()
	j.Keep(func(part []byte) error {
		parts = append(parts, part)
		return nil
	})
	h := hostfuncs.NewHost(nil)
	policy := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, "net: POST "+site+"/**")})
	if err := policy.Bind(j); err != nil {
		t.Fatal(err)
	}
	g := policy.NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:1", Journal: j})
	defer g.Close()
	go func() {
		<-reading
		h.Close()
	}()
	if _, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(post(site+"/x", "body")), &streams{}); err == nil {
		t.Error("half an answer: got success, want an error")
	}
	later := journal.New()
	if err := later.Continue(parts); err != nil {
		t.Fatal(err)
	}
	if family, what := later.Unfinished(); family != "http/fetch" || what != "POST "+site+"/x" {
		t.Errorf("unfinished: got %q %q, want http/fetch, POST %s/x", family, what, site)
	}
}
