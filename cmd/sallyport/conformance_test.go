//go:build clients

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// npm is a file of a package that make installed.
func npm(t *testing.T, parts ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "build", "clients", "node_modules"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%v; run make clients", err)
	}
	return file
}

// TestConformance runs every scenario of the public suite against one server whose only plugin is
// the conformance plugin, in the sandbox. What fails must be in the list of expected failures, and
// what is there must fail.
func TestConformance(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", "plugins", "conformance", "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := serveURL(t, string(config), folder(t, bundled(t, "conformance")), "--no-token")
	suite := npm(t, "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, npm(t, ".bin", "node"), suite, "server", "--url", url,
				"--requirements", revision, "--expected-failures", "testdata/conformance-failures.yaml", "-o", t.TempDir()).CombinedOutput()
			_, summary, found := strings.Cut(string(out), "=== SUMMARY ===")
			if !found {
				summary = string(out)
			}
			t.Log(summary)
			if err != nil {
				t.Errorf("the suite: %v", err)
			}
		})
	}
}
