//go:build clients

package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
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

// suites are the runs of the public suite: what npm calls the package, and which scenarios.
var suites = []struct {
	name, dist string
	args       []string
	quiet      bool // no warning either
}{
	{"0.1.16", "conformance-stable/dist", []string{"--suite", "all"}, true},
	{"2025-11-25", "@modelcontextprotocol/conformance/dist", []string{"--requirements", "2025-11-25"}, false},
	{"2026-07-28", "@modelcontextprotocol/conformance/dist", []string{"--requirements", "2026-07-28"}, false},
	{"skills-directory", "@modelcontextprotocol/conformance/dist", []string{"--scenario", "sep-2640-skills-directory", "--force", "--spec-version", "2026-07-28"}, true},
	{"skills-enumeration", "@modelcontextprotocol/conformance/dist", []string{"--scenario", "sep-2640-skills-enumeration", "--force", "--spec-version", "2026-07-28"}, true},
	{"skills-manifest", "@modelcontextprotocol/conformance/dist", []string{"--scenario", "sep-2640-skills-manifest", "--force", "--spec-version", "2026-07-28"}, true},
}

// skill packs the skill beside the conformance plugin.
func skill(t *testing.T) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "greeting.skill"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(out)
	if err := w.AddFS(os.DirFS(filepath.Join("..", "..", "plugins", "conformance", "skill"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// TestConformance runs every scenario of the public suite against one server whose only plugin is
// the conformance plugin, in the sandbox. What fails must be in the list of expected failures, and
// what is there must fail.
func TestConformance(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", "plugins", "conformance", "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := serveURL(t, string(config), folder(t, bundled(t, "conformance"), skill(t)), "--no-token")
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			dir := t.TempDir()
			args := append([]string{npm(t, filepath.FromSlash(s.dist), "index.js"), "server", "--url", url,
				"--expected-failures", "testdata/conformance-failures.yaml", "-o", dir}, s.args...)
			out, err := exec.CommandContext(ctx, npm(t, ".bin", "node"), args...).CombinedOutput()
			_, summary, found := strings.Cut(string(out), "=== SUMMARY ===")
			if !found {
				summary = string(out)
			}
			t.Log(summary)
			if err != nil {
				t.Errorf("the suite: %v", err)
			}
			if s.quiet {
				noWarnings(t, dir)
			}
		})
	}
}

// noWarnings looks through the checks of a run.
func noWarnings(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Errorf("no checks in %s: %v", dir, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Status == "WARNING" {
				t.Errorf("%s: %s", c.ID, c.ErrorMessage)
			}
		}
	}
}
