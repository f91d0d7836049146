package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributing_walksNameExistingFiles checks the walks of CONTRIBUTING.md: each has two to five files, each file
// exists, and it contains the identifiers that its row quotes. All paths that the page quotes must exist.
func TestContributing_walksNameExistingFiles(t *testing.T) {
	page := rootFile(t, "CONTRIBUTING.md")
	_, section, _ := strings.Cut(page, "\n## Walks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	walks := strings.Split(section, "\n### Add ")[1:]
	for _, name := range []string{"a host function", "a limit", "an MCP method", "a calling convention"} {
		if !strings.Contains(section, "\n### Add "+name+"\n") {
			t.Errorf("CONTRIBUTING.md has no walk %q", name)
		}
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$")
	for _, walk := range walks {
		name, _, _ := strings.Cut(walk, "\n")
		rows := row.FindAllStringSubmatch(walk, -1)
		if n := len(rows); n < 2 || n > 5 {
			t.Errorf("add %s: %d files, want 2 to 5", name, n)
		}
		for _, r := range rows {
			checkQuoted(t, rootFile(t, r[1]), r[1], r[2])
		}
	}
	for _, quoted := range regexp.MustCompile("`([a-z]+/[a-z_./]+)`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(quoted[1]))); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", quoted[1], err)
		}
	}
}

// checkQuoted checks that a file contains the identifiers quoted in the description of its change.
func checkQuoted(t *testing.T, text, file, change string) {
	t.Helper()
	for _, quoted := range regexp.MustCompile("`([A-Za-z.]+)`").FindAllStringSubmatch(change, -1) {
		if !strings.Contains(text, quoted[1]) {
			t.Errorf("CONTRIBUTING.md quotes %s, which %s does not contain", quoted[1], file)
		}
	}
}

// rootFile reads a file by its path from the root of the repository.
func rootFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
