package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// learning runs a call with {"owner": "me"} that fetches each address, and returns its line of the audit log and its
// receipt.
func learning(t *testing.T, learn bool, lines []string, addresses ...string) (line, receipt string) {
	t.Helper()
	w, dir := newOutside(t), t.TempDir()
	record := audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: record, Web: egress.Options{Resolver: w.zone, Dial: w.wire.dial}})
	args := `{"owner":"me","key":"plain-value"}`
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: learn, Grants: mustSet(t, lines...)}).NewGate(hostfuncs.Call{
		ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(args)),
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

// TestLearn_recordsLinesWithArguments checks that used and denied lines are recorded with the names of arguments, once
// per line, only for plugins with Learn, and never in the caller's receipt.
func TestLearn_recordsLinesWithArguments(t *testing.T) {
	addresses := []string{"http://site.example/repos/me/x", "http://site.example/repos/me/x", "http://other.example/k?key=plain-value&n=1"}
	line, receipt := learning(t, true, []string{"net: GET http://site.example/**"}, addresses...)
	for _, want := range []string{
		`{"line":"net: GET http://site.example/repos/{args.owner}/x?","used":2}`, `{"line":"net: GET http://other.example/k?key={args.key}\u0026n","refused":1}`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("the log lacks %s:\n%s", want, line)
		}
	}
	if strings.Contains(receipt, "learnt") {
		t.Errorf("receipt: got %s, want no learnt lines", receipt)
	}
	if line, _ := learning(t, false, nil, addresses...); strings.Contains(line, "learnt") {
		t.Errorf("a plugin that does not learn: got %s, want no learnt lines", line)
	}
}

// TestLearn_skipsEffectsThatNoGrantAllows checks that effects that no grant can allow are not proposed.
func TestLearn_skipsEffectsThatNoGrantAllows(t *testing.T) {
	line, _ := learning(t, true, nil, "http://user:pass@site.example/x", "gopher://site.example/x")
	if strings.Contains(line, "learnt") {
		t.Errorf("got %s, want no learnt lines", line)
	}
}

// TestLearn_isBounded checks that the lines recorded for one call are limited.
func TestLearn_isBounded(t *testing.T) {
	var addresses []string
	for i := range 100 {
		addresses = append(addresses, "http://site.example/"+strings.Repeat("x", i+1))
	}
	line, _ := learning(t, true, nil, addresses...)
	if n := strings.Count(line, `"line":`); n != 64 {
		t.Errorf("got %d lines, want 64", n)
	}
}

// TestLearn_namesArgumentsOfTools checks that tool calls are learned with the names of arguments, and that values from
// other sources are not recorded.
func TestLearn_namesArgumentsOfTools(t *testing.T) {
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
			ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(`{"owner":"me"}`)),
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

// noTools is a Caller without tools.
type noTools struct{}

func (noTools) CallTool(context.Context, hostfuncs.Nested) (json.RawMessage, error) {
	return nil, errors.New("there is none")
}

func (noTools) Publisher(hostfuncs.Nested) string { return "notes" }

func (noTools) ReadResource(context.Context, hostfuncs.Nested) (json.RawMessage, error) {
	return nil, errors.New("there is none")
}

// A resource that was refused is learned as its URI, with any arguments.
func TestLearn_resourceIsItsURI(t *testing.T) {
	for line, want := range map[string]string{
		"":                                      `refused resources: {notes: "memo://notes/7"}`,
		`resources: {notes: "memo://notes/**"}`: `used resources: {notes: "memo://notes/7"}`,
		`resources: {notes: "memo://notes/{args.id}"}`: `used resources: {notes: "memo://notes/{args.id}"}`,
	} {
		h := hostfuncs.NewHost(nil)
		h.SetCaller(noTools{})
		p := hostfuncs.Plugin{Name: "demo", Learn: true, Grants: grant.NewSet()}
		if line != "" {
			p.Grants = mustSet(t, line)
		}
		params := json.RawMessage(`{"name":"get","arguments":{"id":"7"}}`)
		g := h.Plugin(p).NewGate(hostfuncs.Call{ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"},
			Values: grant.ArgumentValues(json.RawMessage(`{"id":"7"}`)), Params: params})
		if _, err := g.Ask(t.Context(), "resources/read", json.RawMessage(`{"uri":"memo://notes/7"}`), nil); err == nil {
			t.Errorf("%s: got no error, want one", line)
		}
		got := ""
		for _, l := range g.Receipt().Learnt {
			got = "used "
			if l.Refused > 0 {
				got = "refused "
			}
			got += grant.Unquote(l.Line)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
		g.Close()
		h.Close()
	}
}

// TestLearn_lineAllowsItsEffect checks that a learned line allows its effect: no other line denies it, max_grants
// covers it, and it names an address that must be named.
func TestLearn_lineAllowsItsEffect(t *testing.T) {
	dir := t.TempDir()
	log := audit.New(dir, audit.Options{})
	w := newOutside(t)
	w.zone.names["intra.example"] = [][]string{{"10.0.0.1"}}
	w.zone.names["other.example"], w.zone.names["third.example"] = [][]string{{"10.0.0.2"}}, [][]string{{"10.0.0.3"}}
	w.zone.names["loop.example"] = [][]string{{"127.0.0.1"}}
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log, Web: egress.Options{Resolver: w.zone, Dial: w.wire.dial}})
	grants := mustSet(t, "net: GET {args.page:url}", "net: GET http://intra.example/** {private: true}", "deny: net: GET http://site.example/no/**").
		Under(mustSet(t, "net: GET http://**", "net: GET http://127.0.0.1/**", "net: GET http://intra.example/** {private: true}", "net: GET http://other.example/x {private: true}"))
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: true, Grants: grants})
	for _, page := range []string{
		"http://site.example/yes", "http://site.example/no/x", "https://site.example/beyond", "http://127.0.0.1/x", "http://169.254.169.254/x",
		"http://intra.example/x", "http://loop.example/x", "http://other.example/x", "http://third.example/x",
	} {
		args := `{"page":"` + page + `"}`
		g := p.NewGate(hostfuncs.Call{
			ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(args)),
			Params: json.RawMessage(`{"name":"get","arguments":` + args + `}`),
		})
		_, _ = fetch(t, g, get(page))
		g.Close()
	}
	h.Close()
	log.Close()
	var got []string
	err := audit.Read(dir, func(l audit.Line) bool {
		var n struct{ Learnt []receipt.Learnt }
		if err := json.Unmarshal(l.Text, &n); err != nil {
			t.Fatal(err)
		}
		for _, line := range n.Learnt {
			got = append(got, fmt.Sprintf("%s %d %d", line.Line, line.Used, line.Refused))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`net: GET {args.page:url} {within: ["http://site.example/**"]} 1 0`,
		`net: GET http://127.0.0.1/x? 0 1`,
		`net: GET http://intra.example/** {private: true} 1 0`,
		`"net: GET http://other.example/x? {private: true}" 0 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("learnt\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// learntReading returns the lines recorded for a call with these arguments that reads files of ~ under these lines.
func learntReading(t *testing.T, home, args string, lines []string, read func(wasi.Tree)) []string {
	t.Helper()
	dir := t.TempDir()
	log := audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log, Home: home, State: filepath.Join(home, "state")})
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Learn: true, Grants: mustSet(t, lines...), Workspace: filepath.Join(home, "work")}).NewGate(hostfuncs.Call{
		ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(args)),
		Params: json.RawMessage(`{"name":"get","arguments":` + args + `}`),
	})
	read(g.Files())
	g.Close()
	h.Close()
	log.Close()
	return linesLearnt(t, dir)
}

func linesLearnt(t *testing.T, dir string) (got []string) {
	t.Helper()
	err := audit.Read(dir, func(l audit.Line) bool {
		var n struct{ Learnt []receipt.Learnt }
		if err := json.Unmarshal(l.Text, &n); err != nil {
			t.Fatal(err)
		}
		for _, line := range n.Learnt {
			got = append(got, line.Line)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestLearn_staysWithinAllowingLine checks that a learned line is no broader than the allowing line: values of
// arguments stay below its path, its limits stay, and a whole home is bound to no argument.
func TestLearn_staysWithinAllowingLine(t *testing.T) {
	home := world(t)
	for _, tt := range []struct{ line, args, file, want string }{
		{"fs: read ~/work/**", `{"path":"%s/work"}`, "work/sub/b.md", "fs: read {workspace}/**"},
		{"fs: read ~/work/**", `{"path":"%s/work/sub/b.md"}`, "work/sub/b.md", "fs: read {workspace}/sub/{args.path:path}"},
		{"fs: read ~/work/sub/**", `{"path":"%s/work/sub"}`, "work/sub/b.md", "fs: read {workspace}/sub/**"},
		{"fs: read ~/work/sub/**", `{"path":"sub/b.md"}`, "work/sub/b.md", "fs: read {workspace}/sub/b.md"},
		{"fs: read ~/work/{args.path:path}", `{"path":"sub/b.md"}`, "work/sub/b.md", "fs: read {workspace}/{args.path:path}"},
		{"fs: read ~/other/{args.path:path}", `{"path":"%s/other/c.txt"}`, "other/c.txt", "fs: read ~/other/{args.path:path}"},
		{"fs: read ~/other/**", `{"path":"%s/other"}`, "other/c.txt", "fs: read ~/other/**"},
		{"fs: read ~/**", `{"path":"%s/other"}`, "other/c.txt", "fs: read ~/other/**"},
		{"fs: read ~/**", `{"path":"other/c.txt"}`, "other/c.txt", "fs: read ~/other/c.txt"},
		{"fs: read ~/other/** {for: [get]}", `{"path":"%s/other"}`, "other/c.txt", "fs: read ~/other/** {for: [get]}"},
		{"fs: read ~/elsewhere/**", `{"path":"%s/other"}`, "other/c.txt", "fs: read ~/other/**"},
	} {
		args := strings.ReplaceAll(tt.args, "%s", home)
		got := learntReading(t, home, args, []string{tt.line}, func(tr wasi.Tree) { _, _ = readFile(tr, filepath.Join(home, tt.file)) })
		if !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s, %s: learnt %q, want %q", tt.line, tt.args, got, tt.want)
		}
	}
}
