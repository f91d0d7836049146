package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// learntFrom is what sallyport learn prints.
func learntFrom(t *testing.T, state string) string {
	t.Helper()
	cmd := program(t, "plugins: {effects: {learn: true}}", "learn", "effects")
	ownState(cmd, state)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error() + string(out)
	}
	return string(out)
}

// What was learnt from calls that were refused is put into the configuration, and the same calls succeed. Calls with
// other arguments succeed too, and what nobody asked for does not.
func TestLearn_whatItPrintsIsEnough(t *testing.T) {
	site, _ := webSite(t)
	notes, state := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.md", "b.md"} {
		if err := os.WriteFile(filepath.Join(notes, name), []byte("note "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const secret = "a-value-that-is-nobodys"
	reading := func(name string) map[string]any {
		return map[string]any{"dir": name, "steps": []step{
			{"do": "read", "path": filepath.Join(notes, name)}, fetching(site.URL + "/v1/" + name + "?key=" + secret)}}
	}
	serving := func(config string) *mcp.ClientSession {
		cmd := program(t, config, "serve", folder(t, guest(t, "effects")))
		ownState(cmd, state)
		return session(t, &mcp.CommandTransport{Command: cmd}, nil)
	}
	s := serving("plugins: {effects: {learn: true}}")
	if r := call(t, s, "effects-run", reading("a.md")); strings.Contains(text(r), "note a") || strings.Contains(text(r), "page") {
		t.Fatalf("allowed before anything is: %s", text(r))
	}
	var learnt string
	eventually(t, "the call is in the log", func() bool {
		learnt = learntFrom(t, state)
		return strings.Contains(learnt, "grants:")
	})
	for _, want := range []string{
		"- fs: read " + notes + "/{args.dir}\n", "- net: GET " + site.URL + "/v1/{args.dir}?key\n", "refused 1 times; first by call ", " of run\n",
	} {
		if !strings.Contains(learnt, want) {
			t.Errorf("it lacks %q:\n%s", want, learnt)
		}
	}
	if strings.Contains(learnt, "a.md") || strings.Contains(learnt, secret) {
		t.Errorf("it holds values:\n%s", learnt)
	}
	log, err := filepath.Glob(filepath.Join(state, "audit", "*"))
	if err != nil || len(log) == 0 {
		t.Fatal(err)
	}

	granted := serving(learnt)
	for _, name := range []string{"a.md", "b.md"} {
		if r := call(t, granted, "effects-run", reading(name)); !strings.Contains(text(r), "note "+name) || !strings.Contains(text(r), "page /v1/"+name) {
			t.Errorf("%s is refused: %s", name, text(r))
		}
	}
	other := reading("b.md")
	other["dir"] = "a.md"
	if r := call(t, granted, "effects-run", other); strings.Contains(text(r), "note") || strings.Contains(text(r), "page") {
		t.Errorf("it reaches what the call is not about: %s", text(r))
	}
}

func TestLearn_nothingYet(t *testing.T) {
	state := t.TempDir()
	for config, want := range map[string]string{"": "write learn: true", "plugins: {effects: {learn: true}}": "no call of plugin"} {
		cmd := program(t, config, "learn", "effects")
		ownState(cmd, state)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestLearn_usedEffects learns from what is allowed already, and prints one line for effects that follow a list.
func TestLearn_usedEffects(t *testing.T) {
	notes, state := t.TempDir(), t.TempDir()
	var steps []step
	for i := range 12 {
		name := filepath.Join(notes, fmt.Sprintf("n%d", i))
		steps = append(steps, step{"do": "write", "path": name, "text": "x"})
	}
	cmd := program(t, "plugins: {effects: {learn: true, grants: [fs: write "+notes+"/**]}}", "serve", folder(t, guest(t, "effects")))
	ownState(cmd, state)
	s := session(t, &mcp.CommandTransport{Command: cmd}, nil)
	call(t, s, "effects-run", effects("", steps...))
	var learnt string
	eventually(t, "the call is in the log", func() bool {
		learnt = learntFrom(t, state)
		return strings.Contains(learnt, "grants:")
	})
	if !strings.Contains(learnt, "- fs: write "+notes+"/{args.steps.*.path:path}\n") {
		t.Errorf("%s", learnt)
	}
	if n := strings.Count(learnt, "  - "); n != 1 {
		t.Errorf("%d lines:\n%s", n, learnt)
	}
}
