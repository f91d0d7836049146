//go:build programs && unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const heyTool = `tools:
  - name: load
    inputSchema:
      type: object
      properties: {method: {type: string}, file: {type: string}, url: {type: string}}
      required: [method, url]
    args: [-n, "1", -c, "1", -m, "{method}", [-D, "{file}"], "{url}"]
`

// TestPrograms_sendTheRequestsOfTheirNativeSelves builds a program of others with HTTP, and compares the requests that
// arrive and the statuses that it reports.
func TestPrograms_sendTheRequestsOfTheirNativeSelves(t *testing.T) {
	dir, work, native := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "hey")
	if text, err := program(t, "", "build", "--go", "github.com/rakyll/hey@v0.1.4", "-o", filepath.Join(dir, "hey.wasm")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	install := exec.Command("go", "install", "github.com/rakyll/hey@v0.1.4")
	install.Env = append(os.Environ(), "GOBIN="+filepath.Dir(native))
	if text, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	body := filepath.Join(work, "body")
	for file, text := range map[string]string{filepath.Join(dir, "hey.tool.yaml"): heyTool, body: strings.Repeat("0123456789abcdef", 1<<16)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := newRecorder(t, "")
	server := newRecorder(t, other.URL)
	grants := fmt.Sprintf("'net: GET,POST %s/**', 'fs: read %s/**'", server.URL, work)
	granted := connect(t, fmt.Sprintf("plugins: {hey: {grants: [%s, 'net: GET %s/**']}}", grants, other.URL), dir)
	partly := connect(t, fmt.Sprintf("plugins: {hey: {grants: [%s]}}", grants), dir)
	alone := connect(t, "", dir)
	for _, c := range []struct{ method, path, file string }{
		{"GET", "/chunks", ""}, {"GET", "/none", ""}, {"POST", "/echo", body}, {"POST", "/chunks", ""}, {"GET", "/away", ""},
	} {
		line := []string{"-n", "1", "-c", "1", "-m", c.method}
		args := map[string]any{"method": c.method, "url": server.URL + c.path}
		if c.file != "" {
			line, args["file"] = append(line, "-D", c.file), c.file
		}
		out, err := exec.Command(native, append(line, server.URL+c.path)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := statuses(string(out)) + server.take() + other.take()
		if got := statuses(text(call(t, granted, "hey-load", args))) + server.take() + other.take(); got != want {
			t.Errorf("%v: got %s, natively %s", c, got, want)
		}
		if got := text(call(t, alone, "hey-load", args)); c.file == "" && !strings.Contains(got, "net: "+c.method+" "+server.URL+c.path+"?") || server.take() != "" {
			t.Errorf("%v without a grant: got %s, want a denial with its line", c, got)
		}
	}
	got := text(call(t, partly, "hey-load", map[string]any{"method": "GET", "url": server.URL + "/away"}))
	if !strings.Contains(got, "net: GET "+other.URL+"/echo?") || other.take() != "" {
		t.Errorf("a redirect without a grant: got %s, want a denial with its line", got)
	}
}

// statuses returns the end of the report, which has no times in it.
func statuses(report string) string {
	return report[max(0, strings.Index(report, "Status code distribution")):]
}
