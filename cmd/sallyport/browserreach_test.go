//go:build clients && unix

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// controls are the controls of the page that tests saw, and those that they used from the keyboard. A control is named by
// its part of the page, its kind, and the text of a button.
var controls = struct{ seen, used map[string]bool }{map[string]bool{}, map[string]bool{}}

// controlRecorder collects the controls in a page. A control is used if a key pressed or changed it; a text that takes the
// focus, to be scrolled, if it had the focus.
const controlRecorder = `(() => {
	const seen = new Set(), used = new Set();
	const name = (e) => [e.closest("[id]").id, e.localName, e.type, e.localName === "button" ? e.textContent : ""].filter(Boolean).join(" ");
	const scan = () => {
		for (const e of document.querySelectorAll("a[href], button, input, select, summary, textarea, [contenteditable], [tabindex]"))
			if (e.tabIndex >= 0 && e.checkVisibility()) seen.add(name(e));
	};
	new MutationObserver(scan).observe(document, { subtree: true, childList: true, attributes: true });
	document.addEventListener("click", (e) => {
		if (e.isTrusted && e.detail === 0 && e.target === document.activeElement) used.add(name(e.target));
	}, true);
	document.addEventListener("input", (e) => { if (e.isTrusted) used.add(name(e.target)); }, true);
	document.addEventListener("focusin", (e) => { if (e.target.localName === "pre") used.add(name(e.target)); }, true);
	window.controls = () => JSON.stringify({ seen: [...seen], used: [...used] });
})()`

// record collects the controls of the tab until the end of its test.
func (b *tab) record() {
	b.t.Helper()
	b.send("Page.enable", nil)
	b.send("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": controlRecorder})
	b.t.Cleanup(func() {
		if b.t.Failed() {
			return
		}
		var text string
		var of struct{ Seen, Used []string }
		if err := json.Unmarshal([]byte(b.eval("window.controls()")), &text); err != nil {
			b.t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			b.t.Fatal(err)
		}
		for _, name := range of.Seen {
			controls.seen[name] = true
		}
		for _, name := range of.Used {
			controls.used[name] = true
		}
	})
}

// Each control that the page had in a state of the tests before this one was used from the keyboard in one of them. This
// test is the last one of the browser, and nothing without them.
func TestBrowser_usesEachControlFromTheKeyboard(t *testing.T) {
	if len(controls.seen) == 0 {
		t.Fatal("got no controls, want those of the tests before: run them all, -run TestBrowser")
	}
	all := slices.Sorted(maps.Keys(controls.seen))
	for _, name := range all {
		if !controls.used[name] {
			t.Errorf("got the control %s that no key used, want a test that uses it", name)
		}
	}
	t.Logf("%d controls are used from the keyboard: %s", len(all), strings.Join(all, ", "))
}
