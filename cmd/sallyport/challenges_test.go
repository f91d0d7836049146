package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each test of this file checks one of the promises listed in cmd/challenges, end to end.

func TestChallenge03_stderrDiscipline(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "misbehave")))
	// Guest output never reaches the protocol stream: it would break the client.
	if got := text(call(t, s, "misbehave-stdout", map[string]any{"text": "a"})); got != "a" {
		t.Errorf("stdout: got %q, want a", got)
	}
	if got := text(call(t, s, "misbehave-stderr", map[string]any{"text": "b"})); got != "b" {
		t.Errorf("stderr: got %q, want b", got)
	}
	r := call(t, s, "misbehave-panic", map[string]any{"text": "c"})
	if !r.IsError || !strings.Contains(text(r), "about to fail: c") {
		t.Errorf("a panic: got %q, want the end of standard error in it", text(r))
	}
	if strings.Contains(text(r), "goroutine ") {
		t.Errorf("a panic: got %q, want no stack of the guest", text(r))
	}
	log, err := os.ReadFile(filepath.Join(sharedState(t), "state", "sallyport.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"said to the log: b", "about to fail: c"} {
		if !bytes.Contains(log, []byte(want)) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestChallenge09_binary(t *testing.T) {
	dir := t.TempDir()
	s := connect(t, "plugins: {files: {grants: [fs: read "+dir+"/**]}}", folder(t, bundled(t, "files")))
	random := rand.NewChaCha8([32]byte{9})
	for _, n := range []int{0, 1, 2, 3, 255, 4096, 65537, 150_000} {
		want := make([]byte, n)
		random.Read(want)
		file := filepath.Join(dir, "bytes.bin")
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file://" + file})
		if err != nil {
			t.Fatalf("%d bytes: got %v, want success", n, err)
		}
		got := r.Contents[0].Blob
		if n > 0 && r.Contents[0].Text != "" {
			got = []byte(r.Contents[0].Text)
		}
		if sha256.Sum256(got) != sha256.Sum256(want) {
			t.Errorf("%d bytes: got %d bytes, %.40s, want them unchanged", n, len(got), base64.StdEncoding.EncodeToString(got))
		}
	}
}

func TestChallenge18_errorQuality(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "misbehave"), bundled(t, "fetch")))
	for _, c := range []struct {
		tool string
		args map[string]any
		want []string // parts of the text
		kind string
	}{
		{"misbehave-trap", nil, []string{"misbehave"}, "trap"},
		{"misbehave-fine", map[string]any{"text": 5}, []string{"/text"}, "invalid"},
		{"fetch-fetch", map[string]any{"url": "https://example.com/a"}, []string{"fetch", "net: GET https://example.com/a"}, ""},
	} {
		r := call(t, s, c.tool, c.args)
		if !r.IsError {
			t.Errorf("%s: got success: %s, want an error", c.tool, text(r))
		}
		for _, w := range c.want {
			if !strings.Contains(text(r), w) {
				t.Errorf("%s: got %q, want %q in it", c.tool, text(r), w)
			}
		}
		if c.kind != "" && kindOf(r) != c.kind {
			t.Errorf("%s: kind %v, want %s", c.tool, kindOf(r), c.kind)
		}
	}
}

func TestChallenge28_configPrecedence(t *testing.T) {
	cmd := program(t, "http: {path: /a}\nlog: {level: warn}\nlimits: {deadline: 5s}\n", "config", "--log-level", "error")
	cmd.Env = append(cmd.Env, "SALLYPORT_HTTP_PATH=/b")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		rows[f[0]] = f[1:]
	}
	for key, want := range map[string]string{
		"log.level":     "error flag --log-level",
		"http.path":     "/b variable SALLYPORT_HTTP_PATH",
		"limits.memory": "64MiB default",
	} {
		if got := strings.Join(rows[key], " "); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	if got := rows["limits.deadline"]; len(got) != 3 || got[0] != "5s" || got[1] != "file" || !strings.HasSuffix(got[2], "sallyport.yaml:3") {
		t.Errorf("limits.deadline: got %v, want 5s of line 3 of the file", got)
	}
}
