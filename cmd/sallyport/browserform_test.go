//go:build clients && unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// A plugin elicits from a client without elicitation: the form opens the console, is filled in as a form of the page,
// and the call continues with the answer.
func TestBrowser_fillsAForm(t *testing.T) {
	h := asking(t, "wait")
	cmd := h.program("serve", h.dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), commandTransport(cmd), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ended := make(chan string, 1)
	begin := func() {
		go func() {
			said, _ := h.who(session)
			ended <- said
		}()
	}
	begin()
	b := openTab(t, consoleAt(t, h.state))
	b.wait(`!!document.querySelector("#forms .words")`)
	if says := b.eval(`document.querySelector("#forms .words").innerText`); !strings.Contains(says, "Plugin effects asks: Who are you?") || !strings.Contains(says, "> sallyport: type y to allow all") {
		t.Errorf("got %v, want %q in it, %q in it", says, "Plugin effects asks: Who are you?", "> sallyport: type y to allow all")
	}
	if outside := b.eval(`[...document.querySelectorAll("#forms .card > *:not(.words)")].map(e => e.innerText).join(" ")`); strings.Contains(outside, "type y") || !strings.Contains(outside, "not Sallyport's") {
		t.Errorf("outside of the box: got %q, want no words of the plugin", outside)
	}
	b.pictures("form")
	field := func(name string) string { return `document.querySelector("#forms [name=` + name + `]")` }
	fill := func(name, value string) {
		b.reach(field(name))
		b.eval(field(name) + `.select()`)
		b.send("Input.insertText", map[string]any{"text": value})
	}
	pick := func(name, value string) {
		b.reach(field(name))
		b.key("ArrowDown")
		b.wait(field(name) + `.value === "` + value + `"`)
	}
	fill("name", "Nebuchadnezzar")
	b.choose("asks you", "Answer")
	b.wait(`document.querySelector("#forms .bad").innerText.includes("/name")`)
	fill("name", "Ada")
	fill("age", "42")
	pick("size", "l")
	pick("sure", "true")
	b.wait(`performance.now() - moved > 2000`) // input stays across two refreshes of the page
	b.choose("asks you", "Answer")
	if said := <-ended; !strings.Contains(said, `"name":"Ada"`) || !strings.Contains(said, `"age":42`) || !strings.Contains(said, `"size":"l"`) || !strings.Contains(said, `"sure":true`) {
		t.Errorf("the plugin got %s, want the values of the form", said)
	}
	begin()
	b.choose("asks you", "Decline")
	if said := <-ended; !strings.Contains(said, `"action":"decline"`) {
		t.Errorf("the plugin got %s, want a decline", said)
	}
	b.wait(`!document.querySelector("#forms .card")`)
	showsForm(t, h, b)
}

// showsForm checks that markup in every text of a form is shown as text.
func showsForm(t *testing.T, h *askingHost, b *tab) {
	t.Helper()
	const evil = `</option></select></p><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	s := store.New(store.Options{Dir: h.state})
	defer s.Close()
	text, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	f := elicit.Form{Plugin: evil, Digest: evil, Principal: evil, Params: json.RawMessage(strings.ReplaceAll(
		`{"message":EVIL,"url":EVIL,"requestedSchema":{"type":"object","properties":{EVIL:{"type":"string","title":EVIL,"description":EVIL,"default":EVIL},`+
			`"pick":{"type":"string","enum":[EVIL],"enumNames":[EVIL],"default":EVIL},"some":{"type":"array","items":{"type":"string","enum":[EVIL]}}}}}`, "EVIL", string(text)))}
	if _, ok := elicit.New(elicit.Options{Store: s}).Ask(t.Context(), f); !ok {
		t.Fatalf("form: got it dropped, want it asked")
	}
	b.wait(`!!document.querySelector("#forms .words") && document.querySelector("#forms .words").innerText.includes("<img src=x")`)
	if got := b.eval(`[document.images.length, document.scripts.length, document.links.length, document.title]`); got != `[0,1,0,"(1) Sallyport: test"]` {
		t.Errorf("page: got %s, want no image, script or link of the form", got)
	}
	b.reach(`document.querySelector("#forms select[multiple]")`)
	b.key("ArrowDown")
	b.choose("asks you", "I have opened it")
	b.wait(`!document.querySelector("#forms .card")`)
}
