package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostFiles creates files in a folder without links in its path.
func hostFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func content(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	return string(raw)
}

func TestChallenge13_atomicity(t *testing.T) {
	dir := hostFiles(t, map[string]string{"a": "old a", "b": "old b"})
	s := connect(t, "limits: {deadline: 2s}\nplugins: {effects: {grants: ['fs: write "+dir+"/**']}}", folder(t, guest(t, "effects")))
	steps := []step{
		{"do": "write", "path": dir + "/a", "text": "new a"},
		{"do": "rename", "path": dir + "/b", "to": dir + "/c"},
		{"do": "mkdir", "path": dir + "/d"},
		{"do": "write", "path": dir + "/d/n", "text": "new n"},
		{"do": "read", "path": dir + "/a"},
	}
	state := func() string {
		return strings.Join([]string{content(dir + "/a"), content(dir + "/b"), content(dir + "/c"), content(dir + "/d/n")}, ", ")
	}
	for _, end := range []string{"error", "trap", "loop"} {
		r := call(t, s, "effects-run", effects(end, steps...))
		if !r.IsError {
			t.Errorf("%s: got success, want an error", end)
		}
		if got := state(); got != "old a, old b, none, none" {
			t.Errorf("%s: got %s on the host, want old a, old b, none, none", end, got)
		}
		if got := receiptOf(t, r); got.Landed != 0 {
			t.Errorf("%s: got %d files landed in the receipt, want 0", end, got.Landed)
		}
	}
	r := unhurried(t, s, "", "effects-run", effects("", steps...))
	if got := lineOf(t, r, 4); r.IsError || got != "new a" {
		t.Errorf("read in the call: got %q, isError %v, want new a", got, r.IsError)
	}
	if got := state(); got != "new a, none, old b, new n" {
		t.Errorf("got %s on the host, want new a, none, old b, new n", got)
	}
	if got := receiptOf(t, r); got.Landed == 0 || got.Outcome != "ok" {
		t.Errorf("got %+v, want %q", got, "ok")
	}
}

func TestChallenge33_auditTrail(t *testing.T) {
	dir := hostFiles(t, map[string]string{"a": "content"})
	state := filepath.Join(t.TempDir(), "state")
	config := "state: " + state + "\nplugins: {effects: {grants: ['fs: read " + dir + "/a']}}"
	cmd := program(t, config, "serve", folder(t, guest(t, "effects")))
	ownState(cmd, state)
	s := session(t, commandTransport(cmd), nil)
	r := call(t, s, "effects-run", effects("", step{"do": "read", "path": dir + "/a"}, step{"do": "read", "path": dir + "/b"}))
	receipt := receiptOf(t, r)
	if !strings.Contains(string(receipt.Effects), `read `+dir+`/a`) || len(receipt.Denials) != 1 || !strings.HasPrefix(receipt.Digest, "sha256:") {
		t.Errorf("got receipt %+v, want the read of %s/a, one denial and a digest", receipt, dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	audit := func(args ...string) (string, error) {
		c := program(t, config, append([]string{"audit"}, args...)...)
		ownState(c, state)
		out, err := c.Output()
		return string(out), err
	}
	if out, err := audit("show", receipt.Call); err != nil || !strings.Contains(out, `"tool": "run"`) || !strings.Contains(out, "read "+dir+"/b") {
		t.Errorf("show: got %s, %v, want the tool run and the read of %s/b", out, err, dir)
	}
	if out, err := audit("verify"); err != nil || !strings.Contains(out, "in 1 chain,") {
		t.Errorf("verify: got %s, %v, want 1 chain", out, err)
	}
	if out, err := audit("verify", "--receipt", receipt.Audit); err != nil || !strings.Contains(out, receipt.Call) {
		t.Errorf("verify the receipt: got %s, %v, want call %s", out, err, receipt.Call)
	}
	forged := receipt.Audit[:strings.LastIndex(receipt.Audit, "/")+1] + strings.Repeat("A", 43)
	if out, err := audit("verify", "--receipt", forged); err == nil || !strings.Contains(err.Error(), "exit status 1") || strings.Contains(out, receipt.Call) || !strings.Contains(out, "not proven") {
		t.Errorf("a forged receipt: got %s, %v, want not proven with exit status 1", out, err)
	}
	if out, err := audit("tail", "--plugin", "effects"); err != nil || !strings.Contains(out, receipt.Call) {
		t.Errorf("tail: got %s, %v, want call %s", out, err, receipt.Call)
	}
	logs, _ := filepath.Glob(filepath.Join(state, "audit", "*.log"))
	raw, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], []byte(strings.Replace(string(raw), "/b", "/c", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := audit("verify"); err == nil || !strings.Contains(out, "it was changed") {
		t.Errorf("a changed line: got %s, %v, want it reported", out, err)
	}
}

func TestChallenge29_workingDirectory(t *testing.T) {
	dir := hostFiles(t, map[string]string{"a": "of the workspace"})
	other := hostFiles(t, map[string]string{"b": "elsewhere"})
	s := connect(t, "workspace: "+dir+"\nplugins: {effects: {grants: ['fs: write {workspace}/**']}}", folder(t, guest(t, "effects")))
	r := call(t, s, "effects-run", effects("",
		step{"do": "read", "path": "a"}, // relative to the working folder
		step{"do": "read", "path": "/workspace/a"},
		step{"do": "write", "path": "n", "text": "new"},
		step{"do": "read", "path": dir + "/n"}, // the same file by its absolute path
		step{"do": "read", "path": other + "/b"}))
	for n, want := range []string{"of the workspace", "of the workspace", "ok", "new"} {
		if got := lineOf(t, r, n); got != want {
			t.Errorf("step %d: got %q, want %q", n, got, want)
		}
	}
	if got := lineOf(t, r, 4); !strings.HasPrefix(got, "error") {
		t.Errorf("outside of the workspace: got %q, want an error", got)
	}
	if got := content(dir + "/n"); got != "new" {
		t.Errorf("got %q on the host, want new", got)
	}
}

// Writes of a nested call are committed with the outermost call, or not at all.
func TestChallenge13_atomicity_ofNestedCalls(t *testing.T) {
	dir := hostFiles(t, nil)
	wasm, err := os.ReadFile(guest(t, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(t.TempDir(), "inner.wasm")
	if err := os.WriteFile(inner, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	write := "['fs: write " + dir + "/**', 'kv: 1KiB'"
	s := connect(t, "plugins: {effects: {grants: "+write+", 'tools: inner-run {any: true}']}, inner: {grants: "+write+"]}}",
		folder(t, guest(t, "effects"), inner))
	steps := []step{
		{"do": "write", "path": dir + "/outer", "text": "outer"},
		{"do": "ask", "text": "tools/call", "params": map[string]any{"name": "inner-run", "arguments": effects("",
			step{"do": "write", "path": dir + "/inner", "text": "inner"},
			step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": dir, "value": 1}})}},
	}
	both := func() string { return content(dir+"/outer") + " " + content(dir+"/inner") }
	if r := call(t, s, "effects-run", effects("error", steps...)); !strings.Contains(text(r), "write: ok") || both() != "none none" {
		t.Errorf("after a failure: got %s on the host, want none none: %s", both(), text(r))
	}
	kept := func() string {
		return text(call(t, s, "inner-run", effects("", step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": dir}})))
	}
	if got := kept(); !strings.Contains(got, `"value":null`) {
		t.Errorf("after a failure: got key %s, want a null value", got)
	}
	if r := call(t, s, "effects-run", effects("", steps...)); r.IsError || both() != "outer inner" {
		t.Errorf("after a success: got %s on the host, want outer inner: %s", both(), text(r))
	}
	if got := kept(); !strings.Contains(got, `"value":1`) {
		t.Errorf("after a success: got key %s, want the value 1", got)
	}
}
