package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// deaf is a client that declares no support for questions.
type deaf struct{ listener }

func (d *deaf) Ask(_ context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	answers := make([]runtime.Answer, len(round))
	for i := range answers {
		answers[i].Err = &runtime.AskError{Kind: runtime.KindUnsupported, Message: "the client does not declare it", Requires: json.RawMessage(`{"elicitation":{}}`)}
	}
	return answers, nil
}

// deafGate opens a gate for a call with a client that supports no questions, and with a store in which forms wait.
func deafGate(t *testing.T, h *hostfuncs.Host, j *journal.Journal, principal string) (*hostfuncs.Gate, *deaf) {
	t.Helper()
	client := &deaf{}
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, "elicitation", "elicitation: {url: https://example.com/**}", "sampling")})
	g := p.NewGate(hostfuncs.Call{ID: "c1", Principal: principal, Client: client, Journal: j})
	t.Cleanup(g.Close)
	return g, client
}

func formsHost(t *testing.T, wait bool) (*hostfuncs.Host, *store.Store) {
	t.Helper()
	h, kept, _ := askingHost(t, wait)
	return h, kept
}

// askingHost is formsHost with a channel of the forms that are asked.
func askingHost(t *testing.T, wait bool) (*hostfuncs.Host, *store.Store, <-chan elicit.Form) {
	t.Helper()
	asked := make(chan elicit.Form, 10)
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	h := hostfuncs.NewHost(&hostfuncs.Options{Forms: elicit.New(elicit.Options{Store: kept, Wait: wait, Told: func(f elicit.Form) { asked <- f }})})
	t.Cleanup(h.Close)
	return h, kept, asked
}

func waitingForms(t *testing.T, kept *store.Store) []elicit.Form {
	t.Helper()
	all, err := elicit.List(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAskInstead_deniesUntilOperatorAnswered checks that without waiting, the call is denied, and the next call gets
// the answer, once.
func TestAskInstead_deniesUntilOperatorAnswered(t *testing.T) {
	h, kept := formsHost(t, false)
	ask := func(params string) (string, error) {
		g, _ := deafGate(t, h, journal.New(), "stdio:1")
		got, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(params), nil)
		return string(got), err
	}
	_, err := ask(elicits)
	all := waitingForms(t, kept)
	var refused *runtime.AskError
	if len(all) != 1 || !errors.As(err, &refused) || refused.Kind != runtime.KindDenied || refused.Hint != "sallyport answer "+all[0].ID || refused.RetryAfterMs == 0 {
		t.Fatalf("got forms %+v and %v, want one form and a denial with its command", all, err)
	}
	if f := all[0]; f.Message() != "Plugin demo asks: Who?" || f.Plugin != "demo" || f.Principal != "stdio:1" {
		t.Errorf("got form %+v, want the question of demo for stdio:1", f)
	}
	if _, err := ask(elicits); err == nil || len(waitingForms(t, kept)) != 1 {
		t.Errorf("asked again: got forms %v, want the one before", waitingForms(t, kept))
	}
	if err := elicit.Reply(t.Context(), kept, all[0].ID, elicit.Accept, json.RawMessage(`{"name":"Ada"}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(strings.Replace(elicits, "Who?", "Who else?", 1)); err == nil {
		t.Errorf("another question: got answer %s, want none", got)
	}
	if got, err := ask(elicits); got != accepted || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, accepted)
	}
	if got, err := ask(elicits); err == nil {
		t.Errorf("the same question again: got answer %s, want none", got)
	}
}

// TestAskInstead_waitsForOperator checks that with waiting, the guest gets the answer, also a decline and a missing
// answer.
func TestAskInstead_waitsForOperator(t *testing.T) {
	h, kept, asked := askingHost(t, true)
	for _, tt := range []struct{ action, content, want string }{
		{elicit.Accept, `{"name":"Ada"}`, accepted},
		{elicit.Decline, ``, `{"action":"decline"}`},
		{elicit.Cancel, ``, `{"action":"cancel"}`},
	} {
		j := journal.New()
		g, client := deafGate(t, h, j, "token:bob")
		got := make(chan string)
		go func() {
			raw, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil)
			if err != nil {
				raw = json.RawMessage(err.Error())
			}
			got <- string(raw)
		}()
		<-asked
		all := waitingForms(t, kept)
		if err := elicit.Reply(t.Context(), kept, all[0].ID, tt.action, json.RawMessage(tt.content)); err != nil {
			t.Fatal(err)
		}
		if answer := <-got; answer != tt.want {
			t.Errorf("%s: got %s, want %s", tt.action, answer, tt.want)
		}
		if len(client.messages) != 1 || !strings.Contains(client.messages[0], "sallyport answer "+all[0].ID) {
			t.Errorf("got messages %q, want one that names sallyport answer %s", client.messages, all[0].ID)
		}
		// the answer is journaled like a client's, for replays
		again, err := journal.Decode(j.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		g, _ = deafGate(t, h, again, "token:bob")
		if raw, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil); string(raw) != tt.want {
			t.Errorf("run again: got %s, %v, want %s", raw, err, tt.want)
		}
	}
}

// TestAskInstead_neverAsksOperatorForOthers checks the questions that never go to the operator.
func TestAskInstead_neverAsksOperatorForOthers(t *testing.T) {
	h, kept := formsHost(t, false)
	const page = `{"mode":"url","message":"Sign in","url":"https://example.com/in"}`
	ask := func(principal, method, params string) error {
		g, _ := deafGate(t, h, nil, principal)
		_, err := g.Ask(t.Context(), method, json.RawMessage(params), nil)
		return err
	}
	for _, tt := range [][3]string{
		{"stdio:1", "sampling/createMessage", samples},
		{"anonymous", "elicitation/create", elicits},
		{"", "elicitation/create", elicits},
		{"token:bob", "elicitation/create", page}, // bob would not be the person who signs in
		{"stdio:1", "elicitation/create", `{"message":"?","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`},
		{"stdio:1", "elicitation/create", `{"message":"?","requestedSchema":{"type":"object","properties":{"x":{"type":"string","enum":["` + strings.Repeat("x", elicit.MaxParams) + `"]}}}}`},
		{"stdio:1", "elicitation/create", `{"mode":"url","message":"Sign in","url":"https://evil.example/"}`},
	} {
		if err := ask(tt[0], tt[1], tt[2]); err == nil || len(waitingForms(t, kept)) > 0 {
			t.Errorf("%.200s: got %v, forms %v, want a refusal and no form", tt, err, waitingForms(t, kept))
		}
	}
	if err := ask("stdio:1", "elicitation/create", page); err == nil || len(waitingForms(t, kept)) != 1 || waitingForms(t, kept)[0].URL() != "https://example.com/in" {
		t.Errorf("got %v and forms %+v, want an error and one form with the page", err, waitingForms(t, kept))
	}
	// nor without the operator's configuration
	g, _ := deafGate(t, hostfuncs.NewHost(nil), nil, "stdio:1")
	_, err := g.Ask(t.Context(), "elicitation/create", json.RawMessage(elicits), nil)
	wantAsk(t, err, runtime.KindUnsupported, "the client does not declare it", "")
}

// TestAskInstead_confirmationGoesToCaller checks that the host's own question about an ask line goes to the caller. If
// the caller cannot answer, the operator is asked for a grant, not with a form in the plugin's name.
func TestAskInstead_confirmationGoesToCaller(t *testing.T) {
	h, kept := formsHost(t, true)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got a request to %s, want none", r.URL) })
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Grants: mustSet(t, "net: POST "+s.URL+"/** {ask: true}", "elicitation")})
	g := p.NewGate(hostfuncs.Call{ID: "c1", Principal: "stdio:1", Client: &deaf{}, Journal: journal.New()})
	t.Cleanup(g.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := g.Ask(ctx, "http/fetch", json.RawMessage(`{"method":"POST","url":"`+s.URL+`/x"}`), &streams{})
	if err == nil || !strings.Contains(err.Error(), "asks for a confirmation") || len(waitingForms(t, kept)) > 0 {
		t.Errorf("got %v and forms %+v, want a denial that asks for a confirmation and no form", err, waitingForms(t, kept))
	}
}

// TestAskInstead_cancelledWaitHasNoAnswer checks that a call cancelled while it waits has no answer: its replay as a
// task asks again.
func TestAskInstead_cancelledWaitHasNoAnswer(t *testing.T) {
	h, kept, asked := askingHost(t, true)
	j := journal.New()
	g, _ := deafGate(t, h, j, "stdio:1")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := g.Ask(ctx, "elicitation/create", json.RawMessage(elicits), nil)
		ended <- err
	}()
	<-asked
	before := len(j.Append(nil))
	cancel()
	if err := <-ended; err == nil || len(j.Append(nil)) != before || len(waitingForms(t, kept)) != 0 {
		t.Errorf("cancelled: got %v, a journal of %d bytes, forms %v, want an error, %d bytes, none", err, len(j.Append(nil)), waitingForms(t, kept), before)
	}
}
