//go:build clients

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestClients_webAnswersOfNode checks that the answers that scripts must give are those of Node.
func TestClients_webAnswersOfNode(t *testing.T) {
	dir := filepath.Join("..", "..", "registry", "testdata", "scripts")
	cases, err := os.ReadFile(filepath.Join(dir, "web.js"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	const main = `import { cases, answer } from "./web.mjs";
const all = {};
for (const name of Object.keys(cases)) all[name] = await answer(name);
console.log(JSON.stringify(all));`
	for name, text := range map[string]string{"web.mjs": string(cases), "main.mjs": main} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "main.mjs")
	cmd.Dir = work
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "web.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %s of Node, want %s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d answers, want %d", len(got), len(want))
	}
}
