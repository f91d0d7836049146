package protocol

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// Each request is observed once, with an outcome of a small set of words.
func TestObserver_seesEachRequestOnce(t *testing.T) {
	type seen struct {
		Begun
		Ended
	}
	var all []seen
	s := NewServer(newCatalog(t, (&player{t: t}).obey), &Options{Observe: func(b Begun) Observation {
		return Observation{Ended: func(e Ended) { all = append(all, seen{b, e}) }}
	}})
	for name, c := range map[string]struct{ method, params, outcome, subject string }{
		"result":        {"tools/call", `"name":"t-any",`, OutcomeOK, "t-any"},
		"unknown tool":  {"tools/call", `"name":"secret",`, OutcomeRefused, ""},
		"no name":       {"tools/call", ``, OutcomeRefused, ""},
		"list":          {"tools/list", ``, OutcomeOK, ""},
		"no method":     {"secret/method", ``, OutcomeRefused, ""},
		"legacy method": {"initialize", ``, OutcomeRefused, ""},
	} {
		all = nil
		conn := s.Connect(ConnOptions{})
		handle(t, conn, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{`+c.params+`"_meta":{`+modernMeta+`,"traceparent":"`+traceparent+`"}}}`)
		conn.Close()
		method := c.method
		if strings.HasPrefix(method, "secret") {
			method = ""
		}
		if len(all) != 1 || all[0].Outcome != c.outcome || all[0].Subject != c.subject || all[0].Method != method ||
			all[0].Version != "2026-07-28" || all[0].Trace.Parent != traceparent || (all[0].Code != 0) != (c.outcome == OutcomeRefused) {
			t.Errorf("%s: got %+v, want one of %q with outcome %s", name, all, method, c.outcome)
		}
	}
	for fail, outcome := range map[string]string{
		`"reply":{"content":[],"isError":true}`:     OutcomeTool,
		`"fail":{"kind":"trap","message":"m"}`:      "trap",
		`"fail":{"kind":"bug"}`:                     OutcomeInternal,
		`"fail":{"kind":"panic"}`:                   OutcomeInternal,
		`"fail":{"code":-32001,"message":"m"}`:      OutcomeGuest,
		`"fail":{"kind":"cancelled","message":"m"}`: OutcomeGone,
		`"fail":{"kind":"deadline","message":"m"}`:  "deadline",
	} {
		all = nil
		conn := s.Connect(ConnOptions{})
		handle(t, conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any","_meta":{`+modernMeta+`,`+fail+`}}}`)
		conn.Close()
		if len(all) != 1 || all[0].Outcome != outcome || all[0].Subject != "t-any" || all[0].Call == "" {
			t.Errorf("%s: got %+v, want one with outcome %s", fail, all, outcome)
		}
	}
}

// The call continues the trace of the observer's span, and that of the client without one.
func TestObserver_spanIsThatOfTheCall(t *testing.T) {
	own := trace.Context{Parent: strings.Replace(traceparent, "b7ad6b7169203331", "00f067aa0ba902b7", 1)}
	for _, span := range []trace.Context{{}, own} {
		s := NewServer(newCatalog(t, (&player{t: t}).obey), &Options{Observe: func(Begun) Observation { return Observation{Span: span} }})
		c := s.Connect(ConnOptions{})
		defer c.Close()
		m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any","_meta":{`+modernMeta+`,"traceparent":"`+traceparent+`"}}}`)
		r := newRequest(c, envelope.Parse(&m), nil)
		r.observe(false)
		call, err := r.forward("t-any")
		want := span.Parent
		if want == "" {
			want = traceparent
		}
		if err != nil || call.Trace.Parent != want {
			t.Errorf("got %+v, %v, want the trace %s", call.Trace, err, want)
		}
	}
}
