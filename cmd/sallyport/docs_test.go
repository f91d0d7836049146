package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

func configurationPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestDocs_everyKeyAndDefault(t *testing.T) {
	page := configurationPage(t)
	rows := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") && strings.Count(line, "|") == 5 {
			rows++
		}
	}
	if want := len(settings.Keys()); rows != want {
		t.Errorf("the page has %d host settings, the host %d", rows, want)
	}
	for _, k := range settings.Keys() {
		row := "| `" + k.Name + "` | " + code("--", k.Flag) + "| " + code("", k.Default) + "| " + k.Doc + " |"
		if !strings.Contains(page, row+"\n") {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
}

// code is a cell of the table: text as code with a space behind it, or nothing.
func code(prefix, text string) string {
	if text == "" {
		return ""
	}
	return "`" + prefix + text + "` "
}

func TestDocs_everyExampleLoads(t *testing.T) {
	examples := 0
	for i, block := range strings.Split(configurationPage(t), "```") {
		text, ok := strings.CutPrefix(block, "yaml\n")
		if i%2 == 0 || !ok {
			continue
		}
		examples++
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Load(settings.Options{File: file}); err != nil {
			t.Errorf("%v", err)
		}
	}
	if examples == 0 {
		t.Error("no example on the page")
	}
}
