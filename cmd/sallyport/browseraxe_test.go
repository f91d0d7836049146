//go:build clients && unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// pictures saves the page at the width of a phone and of a desk, light and dark, and checks each with axe-core: no rule for
// people who cannot see, hear or point well may be broken.
func (b *tab) pictures(name string) {
	b.t.Helper()
	script, err := os.ReadFile(filepath.Join(sharedState(b.t), "..", "clients", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatalf("axe-core: got %v, want it installed (make browser)", err)
	}
	b.eval(string(script) + "; 0")
	for _, width := range []int{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			b.send("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500})
			b.send("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
			state := fmt.Sprintf("console-%s-%d-%s", name, width, scheme)
			b.accessible(state)
			b.picture(filepath.Join(sharedState(b.t), "..", state+".png"))
		}
	}
	b.send("Emulation.clearDeviceMetricsOverride", nil)
	b.send("Emulation.setEmulatedMedia", map[string]any{"features": []any{}})
}

// accessible checks the page as it is with axe-core, and that no text is cut off at its sides.
func (b *tab) accessible(state string) {
	b.t.Helper()
	var answer struct {
		Result struct{ Value string }
	}
	raw := b.send("Runtime.evaluate", map[string]any{"awaitPromise": true, "returnByValue": true, "expression": `axe.run().then(r => JSON.stringify({
		passes: r.passes.length,
		violations: r.violations.map(v => ({ id: v.id, help: v.help, nodes: v.nodes.map(n => n.html + ": " + n.failureSummary) })),
	}))`})
	if err := json.Unmarshal(raw, &answer); err != nil {
		b.t.Fatal(err)
	}
	var found struct {
		Passes     int
		Violations []struct {
			ID, Help string
			Nodes    []string
		}
	}
	if err := json.Unmarshal([]byte(answer.Result.Value), &found); err != nil {
		b.t.Fatalf("%s: got %s, %v, want the report of axe-core", state, raw, err)
	}
	if found.Passes < 10 {
		b.t.Errorf("%s: got %d rules checked, want those of a page", state, found.Passes)
	}
	for _, v := range found.Violations {
		b.t.Errorf("%s: axe-core got %s (%s) at %q, want no violation", state, v.ID, v.Help, v.Nodes)
	}
	if wide := b.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide != "0" {
		b.t.Errorf("%s: got %s pixels beyond the side, want none", state, wide)
	}
	b.t.Logf("%s: %d rules of axe-core pass, %d are violated", state, found.Passes, len(found.Violations))
}
