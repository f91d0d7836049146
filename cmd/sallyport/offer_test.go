//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/transport/console"
)

// adder is the console of a host, with its plugin folder.
type adder struct {
	t       *testing.T
	address string
	host    string
}

// openPage starts a host of a home and returns its page and a client.
func openPage(t *testing.T, a *added) (*adder, *mcp.ClientSession) {
	t.Helper()
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := session(t, commandTransport(a.program("serve", a.dir)), nil)
	p := &adder{t: t, address: consoleAt(t, filepath.Join(a.home, "state"))}
	eventually(t, "the page shows the host", func() bool {
		var shown shownAt
		_, text := atConsole(t, p.address, "GET", "/state", nil)
		if json.Unmarshal([]byte(text), &shown) == nil && len(shown.Hosts) == 1 {
			p.host = shown.Hosts[0].ID
		}
		return p.host != ""
	})
	return p, s
}

// offer asks for the plugin of a link.
func (p *adder) offer(link string) (o console.Offer, code int, text string) {
	p.t.Helper()
	code, text = atConsole(p.t, p.address, "POST", "/order", map[string]any{"do": "offer", "host": p.host, "link": link})
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			p.t.Fatal(err)
		}
	}
	return o, code, text
}

// install confirms an offer.
func (p *adder) install(link, seen string, lines ...string) (code int, text string) {
	p.t.Helper()
	return atConsole(p.t, p.address, "POST", "/order", map[string]any{"do": "install", "host": p.host, "link": link, "seen": seen, "lines": lines})
}

// A plugin is added by its link on the page of the console: shown first, installed as it was shown, and with the ticked
// wants alone.
func TestOffer_installsWhatWasShown(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	p, s := openPage(t, a)
	from := hub.source("acme/speaker", "1")
	first := hub.push("acme/speaker", "1", speaker("Says what it is told.", "first"))
	o, code, answer := p.offer(from)
	if code != http.StatusOK || o.Name != "speaker" || a.files() != "" {
		t.Fatalf("got %d %s and files %q, want the plugin shown and nothing installed", code, answer, a.files())
	}
	for _, want := range []string{"from    " + from, first, "signed  no signature is required", "Says what it is told."} {
		if !strings.Contains(o.Text, want) {
			t.Errorf("what is shown lacks %q: %s", want, o.Text)
		}
	}
	hub.push("acme/speaker", "1", speaker("Says what it is told.", "moved"))
	if code, text := p.install(from, o.Seen); code != http.StatusConflict || !strings.Contains(text, "look at it again") || a.files() != "" {
		t.Errorf("the tag moved: got %d %s and files %q, want a refusal", code, text, a.files())
	}
	if o, code, answer = p.offer(from); code != http.StatusOK {
		t.Fatal(code, answer)
	}
	if code, text := p.install(from, o.Seen, "net: GET https://**"); code != http.StatusUnprocessableEntity || !strings.Contains(text, "does not want") || a.files() != "" {
		t.Errorf("a line of nobody: got %d %s and files %q, want a refusal", code, text, a.files())
	}
	var work sync.WaitGroup
	var installed, refused atomic.Int32
	for range 4 { // a page in four tabs
		work.Go(func() {
			switch code, text := p.install(from, o.Seen); {
			case code == http.StatusOK && strings.Contains(text, "speaker is installed in"):
				installed.Add(1)
			case strings.Contains(text, "a plugin is being installed"), strings.Contains(text, "are installed already"):
				refused.Add(1)
			default:
				t.Errorf("got %d %s, want it installed or refused", code, text)
			}
		})
	}
	work.Wait()
	if installed.Load() != 1 || refused.Load() != 3 {
		t.Fatalf("got %d installations and %d refusals, want 1 and 3", installed.Load(), refused.Load())
	}
	eventually(t, "it is served", func() bool {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "speaker-say"})
		return err == nil && text(r) == "moved"
	})
	if code, text := p.install(from, o.Seen); code != http.StatusUnprocessableEntity || !strings.Contains(text, "are installed already") {
		t.Errorf("twice: got %d %s, want that it is installed", code, text)
	}
	hub.push("acme/speaker", "1", speaker("Says what it is told.", "third"))
	if _, code, text := p.offer(from); code != http.StatusUnprocessableEntity || !strings.Contains(text, "sallyport update shows the difference") {
		t.Errorf("other bytes: got %d %s, want the command for updates", code, text)
	}
	if out, err := a.program("audit", "tail").Output(); err != nil || strings.Count(strings.Join(strings.Fields(string(out)), " "), " speaker you answered add: "+from+", on the console") != 1 {
		t.Errorf("the audit log: got %s, %v, want one installation by the console", out, err)
	}
}

// Only the ticked wants are granted.
func TestOffer_grantsTheTickedWants(t *testing.T) {
	wasm, err := os.ReadFile(bundled(t, "fetch"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ticked := range []bool{true, false} {
		a, hub := newAdded(t), newOCIServer(t)
		hub.push("acme/fetch", "1", wasm)
		p, _ := openPage(t, a)
		from := hub.source("acme/fetch", "1")
		o, code, text := p.offer(from)
		if code != http.StatusOK || len(o.Wants) == 0 || o.Wants[0].Line != "net: GET https://**" || o.Wants[0].Why == "" {
			t.Fatalf("got %d %s, want its wants", code, text)
		}
		var lines []string
		if ticked {
			lines = []string{o.Wants[0].Line}
		}
		code, text = p.install(from, o.Seen, lines...)
		config, err := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
		if code != http.StatusOK || err != nil || strings.Contains(string(config), "- net: GET https://**") != ticked || strings.Contains(text, "granted   net: GET https://**") != ticked {
			t.Errorf("ticked %v: got %d %s and configuration %q, %v", ticked, code, text, config, err)
		}
	}
}

// What cannot be installed is refused with its reason, and leaves nothing.
func TestOffer_refusesWhatAddRefuses(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Speaks.", "one"))
	hub.push("acme/page", "1", []byte("<html>"))
	inside := httptest.NewServer(http.NotFoundHandler())
	defer inside.Close()
	leads := httptest.NewServer(http.RedirectHandler(inside.URL+"/v2/", http.StatusTemporaryRedirect))
	defer leads.Close()
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	p, _ := openPage(t, a)
	for _, c := range []struct{ link, want string }{
		{"", "the source is empty"},
		{file, "this is no link"},
		{"speaker", "this is no link"},
		{"ftp://a.example/speaker.wasm", "ftp"},
		{hub.source("acme/speaker", "2"), "has no such plugin"},
		{hub.source("acme/speaker", "1") + "@sha256:" + strings.Repeat("0", 64), "has no such plugin"},
		{hub.source("acme/page", "1"), "not a WebAssembly module"},
		{"oci://" + strings.TrimPrefix(leads.URL, "http://") + "/acme/speaker:1", "(sallyport add --host 127.0.0.1 names it"},
		{strings.Repeat("x", 5000), "over 2048 bytes"},
	} {
		if _, code, text := p.offer(c.link); code != http.StatusUnprocessableEntity || !strings.Contains(text, c.want) {
			t.Errorf("%.80q: got %d %s, want a refusal with %q", c.link, code, text, c.want)
		}
	}
	put(t, filepath.Join(a.dir, "speaker.wasm"), speaker("Speaks.", "by hand"))
	if _, code, text := p.offer(hub.source("acme/speaker", "1")); code != http.StatusUnprocessableEntity || !strings.Contains(text, "the name speaker belongs to") {
		t.Errorf("a taken name: got %d %s, want its owner", code, text)
	}
	p.host = "gone"
	if _, code, text := p.offer(hub.source("acme/speaker", "1")); code != http.StatusUnprocessableEntity || !strings.Contains(text, "no host serves that folder") {
		t.Errorf("another host: got %d %s, want a refusal", code, text)
	}
	left, err := filepath.Glob(filepath.Join(a.home, "state", "incoming-*"))
	config, _ := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
	if err != nil || len(left) > 0 || a.files() != "speaker.wasm" || string(config) != "# mine\n" {
		t.Errorf("got leftovers %v, %v, files %q, configuration %q, want none", left, err, a.files(), config)
	}
}
