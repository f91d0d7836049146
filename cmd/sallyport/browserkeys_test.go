//go:build clients && unix

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Each answer to a question is given with the keys Tab, Enter and Space alone, and withdrawn in the same way.
func TestBrowser_takesEachAnswerFromTheKeyboard(t *testing.T) {
	h := newAskingHost(t, "refuse")
	h.named("client", h.dir)
	b := openTab(t, consoleAt(t, h.state))
	s := store.New(store.Options{Dir: h.state})
	defer s.Close()
	const line, want = "net: GET https://a.example/", "net: GET https://**"
	for _, c := range []struct {
		label, id string
		want      store.Grant
		expires   bool
	}{
		{"Once", "once", store.Grant{Line: line + "once", Once: true}, true},
		{"For an hour", "hour", store.Grant{Line: line + "hour"}, true},
		{"Always", "always", store.Grant{Line: line + "always"}, false},
		{"All of it for an hour", "all-hour", store.Grant{Line: want}, true},
		{"All of it always", "all-always", store.Grant{Line: want}, false},
	} {
		ask(t, s, c.id, want)
		b.choose("/"+c.id, c.label)
		if strings.HasPrefix(c.label, "All") {
			b.choose("/"+c.id, "Yes")
		}
		b.wait(`document.querySelectorAll("#questions .question").length === 0`)
		all, err := s.Grants(context.Background())
		if err != nil || len(all) != 1 || all[0].Line != c.want.Line || all[0].Once != c.want.Once || all[0].Expires.IsZero() == c.expires {
			t.Errorf("%s: got %+v, %v, want %+v, which expires: %t", c.label, all, err, c.want, c.expires)
		}
		b.choose("plug", "Take back")
		b.wait(`document.querySelector("#answers").innerText === "Nothing was answered."`)
		if q, g := left(t, s); q != 0 || g != 0 {
			t.Errorf("%s, taken back: got %d questions, %d grants, want none", c.label, q, g)
		}
	}
	ask(t, s, "no", "")
	b.choose("/no", "Refuse")
	eventually(t, "the question is refused", func() bool {
		q, err := s.Question(context.Background(), "no")
		return err == nil && q.Refused
	})
}

// The receipt of a call is shown and hidden by keyboard, and stays while the page refreshes.
func TestBrowser_showsReceipts(t *testing.T) {
	dir := folder(t, bundled(t, "files"))
	state := compiledState(t, dir)
	h := &askingHost{t: t, dir: dir, state: state, config: "# mine\n"}
	first, _ := h.named("one", dir)
	second, _ := h.named("two", dir)
	call(t, first, "files-read", map[string]any{"path": filepath.Join(dir, "first<b>.txt")})
	call(t, second, "files-read", map[string]any{"path": filepath.Join(dir, "second<b>.txt")})
	b := openTab(t, consoleAt(t, state))
	b.wait(`document.querySelectorAll("#calls .row").length === 2`) // of both hosts
	const open = `[...document.querySelectorAll("#calls pre")].filter(p => p.offsetParent)`
	b.choose("second<b>", "Receipt")
	b.wait(open + `.length === 1 && document.activeElement === ` + open + `[0]`)
	shown := b.eval(open + `[0].innerText`)
	for _, want := range []string{`\"plugin\": \"files\"`, `\"digest\": \"sha256:`, `\"outcome\": \"failed\"`, `\"denials\"`, `second\\u003cb\\u003e.txt`} {
		if !strings.Contains(strings.ReplaceAll(shown, `second<b>`, `second\\u003cb\\u003e`), want) {
			t.Errorf("the receipt lacks %s: %s", want, shown)
		}
	}
	b.pictures("receipt")
	call(t, first, "files-read", map[string]any{"path": filepath.Join(dir, "third<b>.txt")})
	b.wait(`document.querySelectorAll("#calls .row").length === 3 && ` + open + `.length === 1`)
	b.choose("second<b>", "Receipt")
	b.wait(open + `.length === 0`)
}

// New bytes are rejected by keyboard, and the approved ones serve on.
func TestBrowser_rejectsNewBytes(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "speaker.wasm")
	put(t, file, speaker("Says what it is told.", "first"))
	h := &askingHost{t: t, dir: dir, state: compiledState(t, dir), config: "# mine\n"}
	s, _ := h.named("client", dir)
	call(t, s, "speaker-say", nil)
	b := openTab(t, consoleAt(t, h.state))
	put(t, file, speaker("Sends it to evil.example.", "second"))
	b.wait(`document.querySelector("#n-held").textContent === "1" && document.title.startsWith("(1) ")`)
	b.choose("speaker", "Show what is new")
	b.choose("speaker", "Reject")
	b.choose("speaker", "Yes")
	b.wait(`document.querySelector("#held").innerText.includes("were rejected, and the approved ones serve")`)
	b.wait(`document.querySelector("#n-held").textContent === "" && !document.title.startsWith("(")`) // it needs no answer
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || !strings.Contains(list.Tools[0].Description, "what it is told") {
		t.Errorf("got %+v, %v, want the approved tool", list, err)
	}
}

// Answers for the bytes before hold for the new ones after a tick from the keyboard.
func TestBrowser_carriesAnswers(t *testing.T) {
	h := newAskingHost(t, "refuse")
	s := h.serve()
	address := consoleAt(t, h.state)
	h.fetch(s, "/one")
	if seen, out, code := h.answer("y", "allow", h.one().ID, "--always"); code != 0 {
		t.Fatalf("allow: got exit code %d: %s%s, want 0", code, seen, out)
	}
	eventually(t, "the answer holds", func() bool { _, failed := h.fetch(s, "/one"); return !failed })
	file, before := filepath.Join(h.dir, "fetch.wasm"), h.digest()
	put(t, file, marked(t, file, "new"))
	b := openTab(t, address)
	b.choose("fetch", "Show what is new")
	b.reach(`document.querySelector("#held input")`)
	b.key("Space")
	b.choose("fetch", "Approve")
	b.choose("fetch", "Yes")
	eventually(t, "the new bytes serve", func() bool { return h.digest() != before })
	if answer, failed := h.fetch(h.serve(), "/one"); failed {
		t.Errorf("got %s, want the answer carried over", answer)
	}
}
