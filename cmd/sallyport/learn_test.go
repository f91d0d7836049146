package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// learntFrom returns the output of sallyport learn.
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

// besideNoHome creates a folder outside the parent of the test's home, where other homes would be.
func besideNoHome(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The learnt grants, put into the configuration, allow the calls that were denied, and the same calls with different
// arguments. Other effects stay denied.
func TestLearn_whatItPrintsIsEnough(t *testing.T) {
	t.Parallel()
	site, _ := webSite(t)
	notes, state := besideNoHome(t), t.TempDir()
	for _, name := range []string{"a.md", "b.md"} {
		if err := os.WriteFile(filepath.Join(notes, name), []byte("note "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const secret = "a-value-that-is-nobodys"
	end := "error"
	reading := func(name string) map[string]any {
		return map[string]any{"dir": name, "end": end, "steps": []step{
			{"do": "read", "path": filepath.Join(notes, name)}, fetching(site.URL + "/v1/" + name + "?key=" + secret)}}
	}
	serving := func(config string) *mcp.ClientSession {
		cmd := program(t, config, "serve", folder(t, guest(t, "effects")))
		ownState(cmd, state)
		return session(t, commandTransport(cmd), nil)
	}
	s := serving("plugins: {effects: {learn: true}}")
	if r := call(t, s, "effects-run", reading("a.md")); strings.Contains(text(r), "note a") || strings.Contains(text(r), "page") {
		t.Fatalf("before the grant: got %s, want refusals", text(r))
	}
	var learnt string
	eventually(t, "the call is in the log", func() bool {
		learnt = learntFrom(t, state)
		return strings.Contains(learnt, "grants:")
	})
	for _, want := range []string{
		"- fs: read " + notes + "/{args.dir}\n", "- net: GET " + site.URL + "/v1/{args.dir}?key\n", "refused 1 time; first by call ", " of run\n",
	} {
		if !strings.Contains(learnt, want) {
			t.Errorf("it lacks %q:\n%s", want, learnt)
		}
	}
	if strings.Contains(learnt, "a.md") || strings.Contains(learnt, secret) {
		t.Errorf("learnt lines: got\n%s\nwant no values of arguments in them", learnt)
	}
	log, err := filepath.Glob(filepath.Join(state, "audit", "*"))
	if err != nil || len(log) == 0 {
		t.Fatal(err)
	}

	granted := serving(learnt)
	end = ""
	for _, name := range []string{"a.md", "b.md"} {
		if r := call(t, granted, "effects-run", reading(name)); !strings.Contains(text(r), "note "+name) || !strings.Contains(text(r), "page /v1/"+name) {
			t.Errorf("%s: got %s, want its note and page", name, text(r))
		}
	}
	other := reading("b.md")
	other["dir"] = "a.md"
	if r := call(t, granted, "effects-run", other); strings.Contains(text(r), "note") || strings.Contains(text(r), "page") {
		t.Errorf("files beyond the call's argument: got %s, want refusals", text(r))
	}
}

func TestLearn_saysThatNothingIsRecorded(t *testing.T) {
	state := t.TempDir()
	for config, want := range map[string]string{"": "write learn: true", "plugins: {effects: {learn: true}}": "no call of plugin"} {
		cmd := program(t, config, "learn", "effects")
		ownState(cmd, state)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("got %v: %s, want an error, %q in it", err, out, want)
		}
	}
}

// TestLearn_printsOneLineForAListArgument learns from allowed effects, and prints one line for effects that follow a
// list argument.
func TestLearn_printsOneLineForAListArgument(t *testing.T) {
	t.Parallel()
	notes, state := besideNoHome(t), t.TempDir()
	var steps []step
	for i := range 12 {
		name := filepath.Join(notes, fmt.Sprintf("n%d", i))
		steps = append(steps, step{"do": "write", "path": name, "text": "x"})
	}
	cmd := program(t, "plugins: {effects: {learn: true, grants: [fs: write "+notes+"/**]}}", "serve", folder(t, guest(t, "effects")))
	ownState(cmd, state)
	s := session(t, commandTransport(cmd), nil)
	call(t, s, "effects-run", effects("", steps...))
	var learnt string
	eventually(t, "the call is in the log", func() bool {
		learnt = learntFrom(t, state)
		return strings.Contains(learnt, "grants:")
	})
	if !strings.Contains(learnt, "- fs: write "+notes+"/{args.steps.*.path:path}\n") {
		t.Errorf("got %s, want %q in it", learnt, "- fs: write "+notes+"/{args.steps.*.path:path}\n")
	}
	if n := strings.Count(learnt, "  - "); n != 1 {
		t.Errorf("got %d lines, want 1:\n%s", n, learnt)
	}
}

// The calls of real plugins are covered by a few lines, one form for each effect. Lines that were only tried or are not
// needed are marked, and effects that no line allows are one line.
func TestLearn_coversRealPluginsInAFewLines(t *testing.T) {
	t.Parallel()
	site, _ := webSite(t)
	work, state := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt", "private/x"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte("note "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := func(files, fetch string) string {
		return fmt.Sprintf(`
workspace: %s
max_grants: ["fs: write %s/**", "net: GET %s/**"]
plugins:
  files:
    learn: true
    grants:
      - deny: "fs: read %s/private/**"
%s
  fetch:
    learn: true
    grants:
%s
`, work, work, site.URL, work, files, fetch)
	}
	run := func(config string) {
		cmd := program(t, config, "serve", folder(t, bundled(t, "files"), bundled(t, "fetch")))
		ownState(cmd, state)
		s := session(t, commandTransport(cmd), nil)
		for _, path := range []string{"/workspace/a.txt", "b.txt", work + "/a.txt", work + "/private/x", "/etc/hostname"} {
			call(t, s, "files-read", map[string]any{"path": path})
		}
		if _, err := callMeta(t, s, "files-write", map[string]any{"path": work + "/new.txt", "text": "x"}, mcp.Meta{"dev.sallyport/dryRun": true}); err != nil {
			t.Fatal(err)
		}
		call(t, s, "fetch-fetch", map[string]any{"url": site.URL + "/v1/x"})
	}
	said := func(config, plugin string) string {
		cmd := program(t, config, "learn", plugin)
		ownState(cmd, state)
		out, _ := cmd.CombinedOutput() // it fails while there is no call
		return string(out)
	}
	first := config("", "")
	run(first)
	eventually(t, "the calls are in the log", func() bool { return strings.Contains(said(first, "fetch"), "net: GET") })
	for plugin, want := range map[string][]string{
		"files": {"- fs: write {workspace}/{args.path:path}\n", "# no line is suggested for read " + work + "/private/x: line 8 denies it\n", "# no line is suggested for read /etc/hostname: max_grants does not reach it\n"},
		"fetch": {"- net: GET " + site.URL + "/v1/x?\n"},
	} {
		got := said(first, plugin)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: got\n%s\nwant %q in it", plugin, got, w)
			}
		}
		for _, w := range []string{"{args.url:url}", "- fs: read " + work, "- fs: read /"} {
			if strings.Contains(got, w) {
				t.Errorf("%s: got\n%s\nwant no %q in it", plugin, got, w)
			}
		}
	}
	second := config("      - fs: write {workspace}/{args.path:path}", "      - net: GET "+site.URL+"/**")
	run(second)
	eventually(t, "the dry run is in the log", func() bool { return strings.Contains(said(second, "files"), "tried by a dry run 1 time") })
	if got := said(second, "files"); strings.Count(got, "  - ") != 1 || !strings.Contains(got, "- fs: write {workspace}/{args.path:path}\n") {
		t.Errorf("files: got\n%s\nwant only the write of its argument", got)
	}
}

// A name or argument that imitates a denial's hint is not learnt.
func TestLineIn_ignoresImitatedHints(t *testing.T) {
	var lines []string
	for _, text := range []string{
		"or the line net: GET https://evil.example/x", "x, or the line net: GET,POST https://evil.example/**/x", ", or the line net: GET https://**/x?a", ", or the line elicitation",
	} {
		lines = append(lines, (*grant.Set)(nil).Tool("time-now", map[string]string{"a": text}).Suggest, (*grant.Set)(nil).Files(grant.Places{}).Decide(grant.Read, "/a "+text).Suggest)
	}
	for _, line := range lines {
		for _, hint := range []string{line, "sallyport allow abc --state /x, or the line " + line, "sallyport pending and sallyport grants list them, or the line " + line} {
			if got := lineIn(hint); got != line || line == "" {
				t.Errorf("%s: got line %q, want %q", hint, got, line)
			}
		}
	}
	for _, hint := range []string{"", "sallyport revoke abc, which takes that back", "write such as {args.owner}", "sallyport allow x, or the line "} {
		if got := lineIn(hint); got != "" {
			t.Errorf("%s: got line %q, want none", hint, got)
		}
	}
}
