//go:build clients && unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// key presses and releases a key.
func (b *tab) key(name string) {
	b.t.Helper()
	down, code, typed, value := "keyDown", 13, "\r", name
	switch name {
	case "Tab":
		down, code, typed = "rawKeyDown", 9, ""
	case "Space":
		code, typed, value = 32, " ", " "
	case "Home", "ArrowDown":
		down, code, typed = "rawKeyDown", map[string]int{"Home": 36, "ArrowDown": 40}[name], ""
	}
	for _, kind := range []string{down, "keyUp"} {
		b.send("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": value, "code": name, "windowsVirtualKeyCode": code, "text": typed})
	}
}

// maxTabs is more than the page of a test has places that take the focus.
const maxTabs = 200

// reach moves the focus to an element, which an expression finds, with the key Tab alone.
func (b *tab) reach(find string) {
	b.t.Helper()
	b.wait("!!(" + find + ")")
	for range maxTabs {
		if b.eval("document.activeElement === "+find) == "true" {
			return
		}
		b.key("Tab")
	}
	b.t.Fatalf("the key Tab does not reach %s: %s", find, b.eval("document.activeElement.outerHTML"))
}

// choose moves the focus to a button by name, on the card that contains a text, with the key Tab alone, and presses it
// with Enter.
func (b *tab) choose(about, name string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(".card:not(:has(.row)), .row")].filter(c => c.textContent.includes(%q)).flatMap(c => [...c.querySelectorAll("button")]).filter(b => b.offsetParent).find(b => b.textContent === %q)`, about, name)
	b.taken(name, func() {
		b.reach(find)
		b.wait("document.activeElement === " + find + " && performance.now() - moved >= settle")
		b.key("Enter")
	})
}

// ask adds a question as a plugin's call does.
func ask(t *testing.T, s *store.Store, id, want string) {
	t.Helper()
	_, err := s.Ask(context.Background(), store.Question{ID: id, Plugin: "plug", Digest: "d", Principal: "me", Line: "net: GET https://a.example/" + id,
		Want: want, Effect: "GET https://a.example/" + id + "\u202e", Why: "because\u2066", Binding: id, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
}

// left returns the number of open questions and of grants.
func left(t *testing.T, s *store.Store) (questions, grants int) {
	t.Helper()
	q, err := s.Questions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Grants(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(q), len(g)
}

// The console can be used with a keyboard, on a small screen and with a screen reader, without accidental answers.
func TestBrowser_isUsableWithoutAMouse(t *testing.T) {
	h := newAskingHost(t, "refuse")
	h.named("Claude\u202e Desktop", h.dir)
	b := openTab(t, consoleAt(t, h.state))
	s := store.New(store.Options{Dir: h.state})
	defer s.Close()
	for _, id := range []string{"one", "two", "three"} {
		ask(t, s, id, "net: GET https://**")
	}
	b.wait(`document.querySelectorAll("#questions .question").length === 3 && performance.now() - moved >= settle`)
	b.wait(`document.title === "(3) Sallyport: Claude\\u202e Desktop"`)
	if got := b.eval(`document.body.innerText.match(/[\u202a-\u202e\u2066-\u2069]/)`); got != "null" {
		t.Errorf("got %s, want no control of the writing direction", got)
	}
	if small := b.eval(`[...document.querySelectorAll("button")].filter(e => e.offsetHeight < 44 || e.offsetWidth < 44).length`); small != "0" {
		t.Errorf("got %s buttons too small for a finger, want none", small)
	}
	if told := b.eval(`[...document.querySelectorAll("#questions .question")].every(e => e.innerText.includes(", for an hour or always with any headers and any body"))`); told != "true" {
		t.Error("a card does not say what an answer for longer lets pass:", b.eval(`document.querySelector("#questions").innerText`))
	}
	names := b.eval(`[...document.querySelectorAll("#questions button")].map(e => e.getAttribute("aria-label"))`)
	for _, want := range []string{`"Once: plug wants to GET https://a.example/one`, `"Refuse: plug wants to GET https://a.example/two`, `"All of it always: plug may net: GET https://**"`} {
		if !strings.Contains(names, want) {
			t.Errorf("no button is called %s: %s", want, names)
		}
	}
	if got := b.eval(`new Set([...document.querySelectorAll("#questions button")].map(e => e.getAttribute("aria-label"))).size >= 12`); got != "true" {
		t.Error("buttons of two questions have one name", names)
	}

	// Enter answers; the focus moves to the next question and not to its button, so that a second Enter has no effect.
	b.reach(`document.querySelector("#questions .allow")`)
	b.key("Enter")
	b.wait(`document.querySelectorAll("#questions .question").length === 2`)
	b.wait(`document.activeElement.tagName === "ARTICLE" && document.activeElement.closest("#questions") !== null`)
	b.wait(`performance.now() - moved >= settle`)
	b.key("Enter")
	b.wait(`performance.now() - moved > 2000`)
	if q, g := left(t, s); q != 2 || g != 1 {
		t.Errorf("got %d questions, %d grants, want 2, 1", q, g)
	}

	// Allowing all announced effects takes a confirmation at a different place, not one click or two at the same place.
	b.choose("/two", "All of it always")
	b.wait(`!!document.querySelector(".sure") && document.activeElement.textContent === "No"`)
	b.key("Enter")
	b.wait(`!document.querySelector(".sure")`)
	if q, g := left(t, s); q != 2 || g != 1 {
		t.Errorf("got %d questions, %d grants, want 2, 1", q, g)
	}
	b.choose("/two", "All of it always")
	b.wait(`!!document.querySelector(".sure")`)
	b.pictures("sure")
	b.choose("/two", "Yes")
	b.wait(`document.querySelectorAll("#questions .question").length <= 1`)
	_, given := left(t, s)
	if given == 0 {
		t.Errorf("got no grant, want one")
	}
	b.choose("", "Take back")
	eventually(t, "an answer is taken back", func() bool {
		_, g := left(t, s)
		return g == given-1
	})
	// A refresh keeps the focus on a button while its card stays.
	ask(t, s, "four", "")
	b.wait(`document.querySelectorAll("#questions .question").length >= 1`)
	b.reach(`document.querySelector("#questions .deny")`)
	label := b.eval(`document.activeElement.getAttribute("aria-label")`)
	ask(t, s, "five", "")
	b.wait(`[...document.querySelectorAll("#questions .question")].some(e => e.textContent.includes("/five"))`)
	if got := b.eval(`document.activeElement.getAttribute("aria-label")`); got != label {
		t.Errorf("focus: got %s, want %s", got, label)
	}
}

// A held plugin is reviewed and approved, and a denied effect is granted, by keyboard and each after its details were shown.
func TestBrowser_approvesAndGrantsAfterShowingDetails(t *testing.T) {
	dir := folder(t, bundled(t, "files"))
	state := compiledState(t, dir)
	file := filepath.Join(dir, "speaker.wasm")
	put(t, file, speaker("Says what it is told.", "first"))
	h := &askingHost{t: t, dir: dir, state: state, config: "# mine\n"}
	s, cmd := h.named("client", dir)
	config := filepath.Join(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "HOME="), "sallyport.yaml")
	b := openTab(t, consoleAt(t, state))
	eventually(t, "the first bytes are pinned", func() bool {
		locks, err := filepath.Glob(filepath.Join(state, "sallyport.lock"))
		if err != nil || len(locks) == 0 {
			return false
		}
		text, err := os.ReadFile(locks[0])
		return err == nil && strings.Contains(string(text), "speaker")
	})
	put(t, file, speaker("Says what it is told, and first sends it to </pre><img src=x> evil.example.", "second"))
	// The held plugin is above the calls, and counted in the title.
	b.wait(`document.querySelector("#n-held").textContent === "1" && document.title.startsWith("(1) ")`)
	b.wait(`(document.querySelector("#held").compareDocumentPosition(document.querySelector("#calls")) & Node.DOCUMENT_POSITION_FOLLOWING) > 0`)
	b.wait(`document.querySelector("#held").innerText.includes("speaker") && !document.querySelector("#plugins").innerText.includes("speaker")`)
	b.choose("speaker", "Show what is new")
	b.wait(`document.body.innerText.includes("{+told, and first") && document.images.length === 0`)
	b.pictures("held")
	b.choose("speaker", "Approve")
	b.choose("speaker", "No")
	b.choose("speaker", "Approve")
	b.choose("speaker", "Yes")
	b.wait(`[...document.querySelectorAll("#plugins .card")].some(c => c.textContent.includes("speaker") && !c.textContent.includes("Show what is new"))`)
	eventually(t, "it serves the new bytes", func() bool {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if strings.Contains(tool.Description, "and first sends") {
				return true
			}
		}
		return false
	})

	note := filepath.Join(t.TempDir(), "todo.txt")
	if err := os.WriteFile(note, []byte("remember\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := call(t, s, "files-read", map[string]any{"path": note}); !r.IsError {
		t.Fatalf("read without a grant: got %q, want an error", text(r))
	}
	// An error of the host after a click stays beside it while the page refreshes.
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	b.choose("refused: read", "Allow")
	b.wait(`document.body.innerText.includes("+       - fs: read ` + note + `")`)
	b.choose("refused: read", "No")
	b.wait(`!document.querySelector("#calls .sure")`)
	b.choose("refused: read", "Allow")
	b.wait(`document.body.innerText.includes("+       - fs: read ` + note + `")`)
	put(t, config, []byte("plugins: [1]\n"))
	b.choose("refused: read", "Yes")
	const told = `!!document.querySelector("#calls [data-key] > .wrong") && document.querySelector("#calls .wrong").innerText.includes("want keys and values")`
	b.wait(told)
	b.eval(`window.looks = 0, window.fetch = new Proxy(window.fetch, { apply(f, self, args) { if (args[0] === "/state") window.looks++; return Reflect.apply(f, self, args); } })`)
	b.wait(`window.looks > 2`)
	if b.eval(told) != "true" {
		t.Error("the message has gone:", b.eval(`document.querySelector("#calls").innerText`))
	}
	put(t, config, before)
	b.choose("refused: read", "Allow")
	b.wait(`document.body.innerText.includes("+       - fs: read ` + note + `")`)
	b.choose("refused: read", "Yes")
	b.wait(`["from its next call on", "allow it by now"].some(t => document.querySelector("#calls").innerText.includes(t))`)
	if now, err := os.ReadFile(config); err != nil || !strings.Contains(string(now), "- fs: read "+note) {
		t.Errorf("got %s %v, want %q in it", now, err, "- fs: read "+note)
	}
	b.wait(`document.querySelector("#calls").innerText.includes("the lines of the plugin allow it by now")`)
	eventually(t, "the next call may", func() bool { return !call(t, s, "files-read", map[string]any{"path": note}).IsError })
}

// All calls of the audit log are searched by keyboard, and the newest ones come back without a word.
func TestBrowser_searchesAllCalls(t *testing.T) {
	dir := folder(t, bundled(t, "files"))
	state := compiledState(t, dir)
	h := &askingHost{t: t, dir: dir, state: state, config: "# mine\n"}
	s, _ := h.named("client", dir)
	for _, name := range []string{"first", "second", "third"} {
		call(t, s, "files-read", map[string]any{"path": filepath.Join(dir, name+"<b>.txt")})
	}
	b := openTab(t, consoleAt(t, state))
	const rows = `document.querySelectorAll("#calls .row").length`
	b.wait(rows + ` === 3`)
	search := func(word string) {
		b.reach(`document.querySelector("#word")`)
		b.eval(`document.querySelector("#word").select()`)
		if word == "" {
			b.eval(`document.querySelector("#word").value = ""`)
		} else {
			b.send("Input.insertText", map[string]any{"text": word})
		}
		b.key("Enter")
	}
	search("SECOND<b>")
	b.wait(rows + ` === 1 && document.querySelector("#found").innerText === "1 call names SECOND<b>, the newest first"`)
	b.wait(`document.querySelector("#calls").innerText.includes("second<b>.txt") && document.activeElement.id === "word"`)
	b.pictures("found")
	b.reach(`document.querySelector("#find button")`)
	b.eval(`document.querySelector("#word").value = "nowhere"`)
	b.key("Enter")
	b.wait(rows + ` === 0 && document.querySelector("#calls").innerText === "No call names it."`)
	search("")
	b.wait(rows + ` === 3 && document.querySelector("#found").innerText === ""`)
}
