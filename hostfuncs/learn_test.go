package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/hostfuncs/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
)

// learning is a call of {"owner": "me"} that fetches each address, and the line of the audit log, and the receipt.
func learning(t *testing.T, learn bool, lines []string, addresses ...string) (line, receipt string) {
	t.Helper()
	w, dir := newOutside(t), t.TempDir()
	record := audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: record, Web: web.Options{Resolver: w.zone, Dial: w.wire.dial}})
	args := `{"owner":"me","key":"plain-value"}`
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: learn, Grants: mustSet(t, lines...)}).NewGate(hostfuncs.Call{
		ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: argument.Values(json.RawMessage(args)),
		Params: json.RawMessage(`{"name":"get","arguments":` + args + `}`),
	})
	for _, a := range addresses {
		_, _ = fetch(t, g, get(a))
	}
	r := g.Receipt()
	g.Close()
	h.Close()
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	return auditLines(t, dir), string(r.JSON())
}

// What was used and what was refused is noted with the names of arguments, once for each line, and only for plugins
// that are learnt about. The caller's receipt has nothing of it.
func TestLearn_notesLines(t *testing.T) {
	addresses := []string{"http://site.example/repos/me/x", "http://site.example/repos/me/x", "http://other.example/k?key=plain-value&n=1"}
	line, receipt := learning(t, true, []string{"net: GET http://site.example/**"}, addresses...)
	for _, want := range []string{
		`{"line":"net: GET http://site.example/repos/{args.owner}/x","used":2}`, `{"line":"net: GET http://other.example/k?key={args.key}\u0026n","refused":1}`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("the log lacks %s:\n%s", want, line)
		}
	}
	if strings.Contains(receipt, "learnt") {
		t.Errorf("the receipt has it: %s", receipt)
	}
	if line, _ := learning(t, false, nil, addresses...); strings.Contains(line, "learnt") {
		t.Errorf("it is noted of a plugin that nobody learns about: %s", line)
	}
}

// What no grant can allow is not proposed.
func TestLearn_nothingThatCannotBe(t *testing.T) {
	line, _ := learning(t, true, nil, "http://user:pass@site.example/x", "gopher://site.example/x")
	if strings.Contains(line, "learnt") {
		t.Error(line)
	}
}

// A call that needs a thousand lines is noted to need a bounded number.
func TestLearn_bounded(t *testing.T) {
	var addresses []string
	for i := range 100 {
		addresses = append(addresses, "http://site.example/"+strings.Repeat("x", i+1))
	}
	line, _ := learning(t, true, nil, addresses...)
	if n := strings.Count(line, `"line":`); n != 64 {
		t.Errorf("%d lines", n)
	}
}

// A call of another tool is learnt by its arguments' names; a value that came from nowhere is not written down.
func TestLearn_otherTools(t *testing.T) {
	for args, want := range map[string]string{
		`{"who":"me"}`:                      `tools: [{forge-get: {who: \\\"{args.owner}\\\"}}]`,
		`{"who":"me","text":"a secret"}`:    `any: true`,
		`{}`:                                `tools: [forge-get]`,
		`{"who":"me","deep":{"of":"mine"}}`: `any: true`,
	} {
		dir := t.TempDir()
		record := audit.New(dir, audit.Options{})
		h := hostfuncs.NewHost(&hostfuncs.Options{Audit: record})
		h.SetCaller(noTools{})
		g := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: true}).NewGate(hostfuncs.Call{
			ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: argument.Values(json.RawMessage(`{"owner":"me"}`)),
			Params: json.RawMessage(`{"name":"get","arguments":{"owner":"me"}}`),
		})
		_, err := g.Ask(t.Context(), "tools/call", json.RawMessage(`{"name":"forge-get","arguments":`+args+`}`), nil)
		g.Close()
		h.Close()
		record.Close()
		_, learnt, _ := strings.Cut(auditLines(t, dir), `"learnt":`)
		learnt, _, _ = strings.Cut(learnt, `"denials"`)
		if err == nil || !strings.Contains(learnt, want) || strings.Contains(learnt, "secret") || strings.Contains(learnt, "mine") {
			t.Errorf("%s: %v, %s, want %s", args, err, learnt, want)
		}
	}
}

// noTools has no tool that could be called.
type noTools struct{}

func (noTools) CallTool(context.Context, hostfuncs.Nested) (json.RawMessage, error) {
	return nil, errors.New("there is none")
}
