package main

import (
	"fmt"
	"os"
	"os/exec"
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

// code returns a table cell: text as code with a trailing space, or "".
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

// Each recipe of the page has the outcomes listed below it.
func TestDocs_recipes(t *testing.T) {
	_, rest, _ := strings.Cut(configurationPage(t), "\n## Recipes\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	state, home := t.TempDir(), t.TempDir()
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	var config string
	for i, block := range strings.Split(section, "```") {
		if i%2 == 0 {
			continue
		}
		if text, ok := strings.CutPrefix(block, "yaml\n"); ok {
			config = text
			continue
		}
		for line := range strings.Lines(strings.TrimSpace(block)) {
			command, want, ok := strings.Cut(strings.TrimSpace(line), "# ")
			if !ok || !strings.HasPrefix(command, "sallyport ") {
				t.Fatalf("%q is no command with its outcome", line)
			}
			got := outcomeOf(t, config, command, state, home)
			if got != want {
				t.Errorf("%s is %s, and the page says %s", command, got, want)
			}
			said[want]++
		}
	}
	if said["allowed"] < 6 || said["refused"] < 6 || said["asks"] < 1 {
		t.Errorf("the recipes say %v", said)
	}
}

// outcomeOf runs a command of the page with a configuration, and returns its outcome as one word.
func outcomeOf(t *testing.T, config, command, state, home string) string {
	t.Helper()
	full := program(t, config)
	cmd := exec.Command("sh", "-c", `sallyport() { "$SALLYPORT" "$@" --config "$CONFIG" --state "$STATE"; }; `+command)
	cmd.Env = append(full.Env, "HOME="+home, "SALLYPORT="+full.Path, "CONFIG="+full.Args[2], "STATE="+state)
	out, err := cmd.Output()
	switch text := string(out); {
	case err == nil && strings.HasPrefix(text, "allowed: "):
		return "allowed"
	case strings.HasPrefix(text, "asks: "):
		return "asks"
	case strings.HasPrefix(text, "refused: "):
		return "refused"
	default:
		return text + fmt.Sprint(err)
	}
}
