package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const yes, no = `{"action":"accept","content":{}}`, `{"action":"decline"}`

// caller opens a gate for a call of a principal with the client p.
func caller(t *testing.T, p *person, j *journal.Journal, principal string, lines ...string) *hostfuncs.Gate {
	t.Helper()
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	policy := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, lines...)})
	if err := policy.Bind(j); err != nil {
		t.Fatal(err)
	}
	g := policy.NewGate(hostfuncs.Call{ID: "c1", Principal: principal, Client: p, Journal: j})
	t.Cleanup(g.Close)
	return g
}

// counting is a server that echoes and counts requests.
func counting(t *testing.T, sent *int) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		*sent++
		io.Copy(w, r.Body)
	}).URL
}

// TestConfirm_asksForEachRequest checks that each request matching an ask line is confirmed separately, in the host's
// own words.
func TestConfirm_asksForEachRequest(t *testing.T) {
	var sent int
	site := counting(t, &sent)
	p := &person{answers: map[string]string{"elicitation/create": yes}}
	g := caller(t, p, nil, "stdio:1", "net: POST "+site+"/** {ask: true}")
	for range 2 {
		if a, err := fetch(t, g, post(site+"/x", "five5")); err != nil || a.text != "five5" {
			t.Errorf("got %+v, %v, want the echo of five5", a, err)
		}
	}
	want := `"message":"Sallyport asks: may plugin demo POST ` + site + `/x, with a body of 5 bytes (SHA-256 9caa1a017da4f2a1b836d0b4826549f651f3318bca4569af1d12549a92a3e0b0)? Yes is for this one request."`
	if len(p.rounds) != 2 || !strings.Contains(p.rounds[0], want) || sent != 2 {
		t.Errorf("got %d requests, questions %q, want 2 requests, 2 questions, the first with %s", sent, p.rounds, want)
	}
	p.answers["elicitation/create"] = no
	_, err := fetch(t, g, post(site+"/x", "five5"))
	if err == nil || !strings.Contains(err.Error(), "the caller declined") || sent != 2 {
		t.Errorf("declined: got %d requests, %v, want 2, a refusal", sent, err)
	}
}

// TestConfirm_needsAskLine checks that a client's yes has no effect without an ask line, for a remote caller whose line
// does not let it confirm, and under a line that denies.
func TestConfirm_needsAskLine(t *testing.T) {
	var sent int
	site := counting(t, &sent)
	for _, c := range []struct {
		principal, lines string
		asked, sent      int
	}{
		{"stdio:1", "elicitation", 0, 0},
		{"stdio:1", "net: GET " + site + "/**", 0, 0}, // for a different method
		{"token:a", "net: POST " + site + "/** {ask: true}", 0, 0},
		{"anonymous", "net: POST " + site + "/** {ask: true}", 0, 0},
		{"token:a", "net: POST " + site + "/** {ask: caller}", 1, 1},
		{"stdio:1", "net: POST " + site + "/** {ask: true}\ndeny: net: POST " + site + "/x", 0, 0},
	} {
		sent = 0
		p := &person{answers: map[string]string{"elicitation/create": yes}}
		_, err := fetch(t, caller(t, p, nil, c.principal, strings.Split(c.lines, "\n")...), post(site+"/x", ""))
		if len(p.rounds) != c.asked || sent != c.sent || (err == nil) != (c.sent > 0) {
			t.Errorf("%s, %s: got questions %q, %d requests, %v, want %d questions, %d requests", c.principal, c.lines, p.rounds, sent, err, c.asked, c.sent)
		}
	}
}

// TestConfirm_replayAppliesAnswerToSameRequest checks that in the current protocol revision the question ends the call,
// and the replay applies the answer to the same request.
func TestConfirm_replayAppliesAnswerToSameRequest(t *testing.T) {
	for answer, want := range map[string]int{yes: 2, no: 1} {
		var sent int
		site := counting(t, &sent)
		lines := []string{"net: GET " + site + "/**", "net: POST " + site + "/** {ask: true}"}
		work := func(g *hostfuncs.Gate) error {
			if _, err := fetch(t, g, get(site+"/first")); err != nil {
				return fmt.Errorf("first: %w", err)
			}
			_, err := fetch(t, g, post(site+"/x", "body"))
			return err
		}
		j := journal.New()
		p := &person{suspend: true}
		if err := work(caller(t, p, j, "stdio:1", lines...)); !errors.Is(err, hostfuncs.ErrSuspended) || sent != 1 {
			t.Fatalf("suspended: got %v, %d requests, want %v, 1", err, sent, hostfuncs.ErrSuspended)
		}
		again, err := journal.Decode(j.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		p = &person{answers: map[string]string{"elicitation/create": answer}}
		err = work(caller(t, p, again, "stdio:1", lines...))
		if (err == nil) != (answer == yes) || sent != want || len(p.rounds) != 1 {
			t.Errorf("%s: got %v, %d requests, questions %q, want %d requests, one question", answer, err, sent, p.rounds, want)
		}
	}
}

// TestConfirm_roundStopsAtQuestion checks that a round stops at a request that ends the call with a question, and that
// the replay performs the later requests, each once and under its own key.
func TestConfirm_roundStopsAtQuestion(t *testing.T) {
	var got, keys []string
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, keys = append(got, r.URL.Path), append(keys, r.Header.Get("Idempotency-Key"))
	}).URL
	lines := []string{"elicitation", "net: POST " + site + "/asked {ask: true}", "net: POST " + site + "/granted", "net: POST " + site + "/first"}
	work := func(g *hostfuncs.Gate) (errs []error) {
		question := func(path string) runtime.Question {
			return runtime.Question{Method: "http/fetch", Params: json.RawMessage(post(site+path, "x"))}
		}
		s := &streams{}
		for _, a := range g.AskRound(t.Context(), []runtime.Question{
			question("/first"), {Method: "elicitation/create", Params: json.RawMessage(elicits)}, question("/asked"), question("/granted"),
		}, s) {
			errs = append(errs, a.Err)
		}
		_, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(post(site+"/granted", "later")), s)
		return append(errs, err, g.Land(t.Context()))
	}
	j := journal.New()
	p := &person{suspend: true}
	for i, err := range work(caller(t, p, j, "stdio:1", lines...)) {
		if !errors.Is(err, hostfuncs.ErrSuspended) {
			t.Errorf("request %d: got %v, want %v", i, err, hostfuncs.ErrSuspended)
		}
	}
	if len(p.rounds) != 1 || !slices.Equal(got, []string{"/first"}) {
		t.Errorf("suspended: got questions %q, requests %q, want one question, only /first sent", p.rounds, got)
	}
	again, err := journal.Decode(j.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p = &person{answers: map[string]string{"elicitation/create": `{"action":"accept","content":{"name":"Ada"}}`}}
	for i, err := range work(caller(t, p, again, "stdio:1", lines...)) {
		if err != nil {
			t.Errorf("request %d again: got %v, want success", i, err)
		}
	}
	if !slices.Equal(got, []string{"/first", "/asked", "/granted", "/granted"}) {
		t.Errorf("got requests %q, want /first, /asked and twice /granted", got)
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != len(got) {
		t.Errorf("got keys %q, want %d different ones", keys, len(got))
	}
}

// TestConfirm_neverAsksAboutLongURL checks that no one is asked about a URL that is too long to be shown whole.
func TestConfirm_neverAsksAboutLongURL(t *testing.T) {
	var sent int
	site := counting(t, &sent)
	for _, c := range []struct {
		length, sent int
		shown        bool
	}{{1500, 1, true}, {4000, 0, false}} {
		sent = 0
		p := &person{answers: map[string]string{"elicitation/create": yes}}
		end := strings.Repeat("x", c.length) + "&to=mallory"
		_, err := fetch(t, caller(t, p, nil, "stdio:1", "net: POST "+site+"/** {ask: true}"), post(site+"/pay?memo="+end, ""))
		if sent != c.sent || (err == nil) != c.shown || c.shown != (len(p.rounds) == 1 && strings.Contains(p.rounds[0], "to=mallory?")) {
			t.Errorf("%d bytes: got %d requests, questions %q, %v, want %d requests, shown whole: %t", c.length, sent, p.rounds, err, c.sent, c.shown)
		}
	}
}
