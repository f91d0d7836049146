//go:build clients && unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// A plugin is added by its link with the keyboard alone: its description and its wants are read before it is installed,
// what it says of itself is text, and its tools are served afterwards.
func TestBrowser_addsAPluginByItsLink(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/fetch", "1", withDescription(t, "fetch", `<img src=x onerror=\"alert(1)\">\u202e`))
	p, s := openPage(t, a)
	b := openTab(t, p.address)
	const field, card = `document.querySelector("#link")`, `document.querySelector("#offer .card")`
	open := func(link string) {
		b.reach(field)
		b.eval(field + `.select()`)
		b.send("Input.insertText", map[string]any{"text": link})
		b.key("Enter")
	}
	open(hub.source("acme/fetch", "2"))
	b.wait(`document.querySelector("#fetched").innerText.includes("has no such plugin") && document.activeElement.id === "link"`)
	b.pictures("offer-refused")
	open(hub.source("acme/fetch", "1"))
	b.wait(`!!` + card + ` && document.activeElement === ` + card + `.querySelector("pre")`)
	shown := b.eval(card + `.innerText`)
	for _, want := range []string{"fetch is not installed", "signed  no signature is required", `<img src=x onerror=`, "6 invisible characters were removed", "it may net: GET https://**", "it says: reads the pages that it is asked for"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the card lacks %s: %s", want, shown)
		}
	}
	if got := b.eval(`document.querySelectorAll("#offer img").length`); got != "0" || a.files() != "" {
		t.Errorf("got %s pictures and files %q, want none", got, a.files())
	}
	b.pictures("offer")
	b.choose("is not installed", "Cancel")
	b.wait(`!` + card + ` && document.activeElement.id === "h-plugins"`)

	open(hub.source("acme/fetch", "1"))
	b.reach(card + `.querySelector("input")`)
	b.key("Space")
	b.choose("is not installed", "Install")
	b.wait(`document.querySelector("#offer .sure").innerText.includes("Install fetch with 1 of its ")`)
	b.key("Enter") // on No
	b.wait(`!document.querySelector("#offer .sure")`)
	if a.files() != "" {
		t.Errorf("No: got files %q, want none", a.files())
	}
	b.choose("is not installed", "Install")
	b.choose("is not installed", "Yes")
	b.wait(card + `.innerText.includes("fetch is installed in") && document.activeElement.id === "h-plugins"`)
	b.pictures("offer-installed")
	eventually(t, "its tools are served", func() bool {
		list, err := s.ListTools(t.Context(), &mcp.ListToolsParams{})
		return err == nil && len(list.Tools) > 0
	})
	config, err := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
	if err != nil || !strings.Contains(string(config), "- net: GET https://**") {
		t.Errorf("got configuration %q, %v, want the ticked want", config, err)
	}
}

// A link is given before the page has its folders.
func TestBrowser_fetchesALinkOnceItHasTheFolders(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	p, _ := openPage(t, a)
	b := openTab(t, p.address)
	b.send("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": fmt.Sprintf(`addEventListener("DOMContentLoaded", () => {
		document.getElementById("link").value = %q;
		document.getElementById("add").requestSubmit();
	})`, hub.source("acme/fetch", "2"))})
	b.send("Page.reload", nil)
	b.wait(`document.querySelector("#fetched").innerText.includes("has no such plugin")`)
}

// With hosts of two folders, the keyboard chooses the one that a plugin is added to, and the choice stays while the page
// refreshes.
func TestBrowser_choosesTheFolderOfAPlugin(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	wasm, err := os.ReadFile(bundled(t, "time"))
	if err != nil {
		t.Fatal(err)
	}
	hub.push("acme/time", "1", wasm)
	p, _ := openPage(t, a)
	b := openTab(t, p.address)
	const folder, shown = `document.querySelector("#folder")`, `document.querySelector("#folder").selectedOptions[0].textContent`
	b.wait(folder + `.options.length === 1 && !` + folder + `.checkVisibility()`) // one folder is no choice
	second := filepath.Join(a.home, "second")
	if err := os.Mkdir(second, 0o700); err != nil {
		t.Fatal(err)
	}
	session(t, commandTransport(a.program("serve", second)), nil)
	b.wait(folder + `.options.length === 2`)
	b.pictures("folders")
	b.reach(folder)
	b.key("Home")
	if b.eval(shown) != fmt.Sprintf("%q", second) {
		b.key("ArrowDown")
	}
	b.wait(`performance.now() - moved > 2000 && ` + shown + fmt.Sprintf(` === %q`, second)) // across two refreshes
	b.reach(`document.querySelector("#link")`)
	b.send("Input.insertText", map[string]any{"text": hub.source("acme/time", "1")})
	b.reach(`document.querySelector("#add button")`)
	b.key("Enter")
	b.choose("is not installed", "Install")
	b.choose("is not installed", "Yes")
	b.wait(`document.querySelector("#offer .card").innerText.includes("time is installed in " + ` + shown + `)`)
	if _, err := os.Stat(filepath.Join(second, "time.wasm")); err != nil || a.files() != "" {
		t.Errorf("got %v and files %q in the first folder, want the plugin in the chosen one", err, a.files())
	}
}

// withDescription returns a bundled plugin with text in the descriptions of its tools; text is the inside of a JSON string.
func withDescription(t *testing.T, name, text string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(bundled(t, name))
	if err != nil {
		t.Fatal(err)
	}
	module, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	section, _ := module.CustomSection(wasmbin.ManifestSection)
	changed := strings.ReplaceAll(string(section), `"description":"`, `"description":"`+text+` `)
	if !json.Valid([]byte(changed)) || changed == string(section) {
		t.Fatal(changed)
	}
	wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, []byte(changed))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return wasm
}
