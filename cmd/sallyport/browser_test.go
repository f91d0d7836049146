//go:build clients && unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/websocket"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// tab is one page of a headless Chromium, controlled by the DevTools protocol.
type tab struct {
	t    *testing.T
	conn *websocket.Conn
	n    int
}

// openTab starts a browser and opens an address in it.
func openTab(t *testing.T, address string) *tab {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("chromium: got %v, want it installed (make browser)", err)
	}
	profile, err := os.MkdirTemp("", "sallyport-tab-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--window-size=1100,1000", "--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its child processes write to the profile folder until the end
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = os.RemoveAll(profile)
	})
	var control string
	for lines := bufio.NewScanner(out); control == "" && lines.Scan(); {
		_, control, _ = strings.Cut(lines.Text(), "DevTools listening on ws://")
	}
	control, _, _ = strings.Cut(control, "/")
	go func() { _, _ = bufio.NewReader(out).WriteTo(new(bytes.Buffer)) }()
	r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+control+"/json/new?about:blank", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var page struct{ WebSocketDebuggerURL string }
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	conn, err := websocket.Dial(page.WebSocketDebuggerURL, "", "http://"+control)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	b := &tab{t: t, conn: conn}
	b.record()
	b.send("Page.navigate", map[string]any{"url": address})
	return b
}

// send makes one DevTools call and returns its result.
func (b *tab) send(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.n++
	if err := websocket.JSON.Send(b.conn, map[string]any{"id": b.n, "method": method, "params": params}); err != nil {
		b.t.Fatal(err)
	}
	for {
		var m struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err := websocket.JSON.Receive(b.conn, &m); err != nil {
			b.t.Fatal(err)
		}
		if m.ID == b.n {
			if m.Error != nil {
				b.t.Fatalf("%s: got %s, want success", method, m.Error)
			}
			return m.Result
		}
	}
}

// eval returns the value of an expression in the page, as JSON. It moves no focus, which is for the keyboard.
func (b *tab) eval(expression string) string {
	b.t.Helper()
	if strings.Contains(expression, ".focus(") {
		b.t.Fatalf("%s: got a focus by script, want one by the keyboard", expression)
	}
	var r struct {
		Result struct{ Value json.RawMessage }
	}
	raw := b.send("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if err := json.Unmarshal(raw, &r); err != nil {
		b.t.Fatal(err)
	}
	return string(r.Result.Value)
}

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	came := false
	defer func() {
		if !came {
			b.t.Logf("the page: %s", b.eval("document.body.innerText"))
		}
	}()
	eventually(b.t, expression, func() bool {
		came = b.eval(expression) == "true"
		return came
	})
}

// click clicks a button by name, on the card that contains a text.
func (b *tab) click(about, name string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(".question, .row")].filter(c => c.textContent.includes(%q))
		.flatMap(c => [...c.querySelectorAll("button")]).find(b => b.textContent === %q)`, about, name)
	b.taken(name, func() {
		b.wait("!!(" + find + ") && performance.now() - moved >= settle")
		var at [2]float64
		raw := b.eval("(() => { const b = " + find + "; b.scrollIntoView({block: 'center'}); const r = b.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()")
		if err := json.Unmarshal([]byte(raw), &at); err != nil {
			b.t.Fatal(raw, err)
		}
		b.press(at)
	})
}

// maxPresses is the number of times that a button moves under the hand at most before a test fails.
const maxPresses = 20

// taken repeats a press of a button until the page takes it: one on a card that has just moved is dropped, or hits another
// place.
func (b *tab) taken(name string, press func()) {
	b.t.Helper()
	b.eval(`window.watching ||= !document.addEventListener("click", (e) => {
		window.hit = performance.now() - moved < settle ? "" : e.target.closest("button")?.textContent;
	}, true)`)
	for range maxPresses {
		b.eval(`window.hit = ""`)
		press()
		if b.eval(`window.hit`) == fmt.Sprintf("%q", name) {
			return
		}
	}
	b.t.Fatalf("%s: the page takes no press of it", name)
}

// press presses and releases the mouse button at a position.
func (b *tab) press(at [2]float64) {
	b.t.Helper()
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.send("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1})
	}
}

// picture saves a screenshot of the whole page.
func (b *tab) picture(file string) {
	b.t.Helper()
	var size struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	if err := json.Unmarshal(b.send("Page.getLayoutMetrics", nil), &size); err != nil {
		b.t.Fatal(err)
	}
	clip := map[string]any{"x": 0, "y": 0, "width": size.CSSContentSize.Width, "height": size.CSSContentSize.Height, "scale": 1}
	var r struct{ Data string }
	if err := json.Unmarshal(b.send("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip}), &r); err != nil {
		b.t.Fatal(err)
	}
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// A plugin's call asks, the answer is given on the console, and the call continues.
func TestBrowser_answersACall(t *testing.T) {
	h := newAskingHost(t, "wait")
	h.config += "max_grants: ['net: GET " + h.site + "/**']\nplugins: {fetch: {grants: ['deny: net: GET https://no.example/**']}}\n"
	cmd := h.program("serve", h.dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), commandTransport(cmd), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	type end struct {
		said   string
		failed bool
	}
	begin := func(path string) chan end {
		ended := make(chan end, 1)
		go func() {
			said, failed := h.fetch(session, path)
			ended <- end{said, failed}
		}()
		return ended
	}

	first := begin("/once")
	address := consoleAt(t, h.state)
	b := openTab(t, address)
	b.wait(`document.body.innerText.includes("/once")`)
	for class, line := range map[string]string{"bad": "never net: GET https://no.example/**", "soft": "and nothing beyond net: GET " + h.site + "/**"} {
		b.wait(fmt.Sprintf(`[...document.querySelectorAll("#plugins p")].some(p => p.innerText === %q && p.firstChild.className === %q)`, line, class))
	}
	b.pictures("question")
	b.click("/once", "Once")
	if e := <-first; e.failed || !strings.Contains(e.said, "page /once") {
		t.Errorf("got %+v, want %q in it", e, "page /once")
	}
	second := begin("/once") // the answer was for once
	b.click("/once", "Refuse")
	if e := <-second; !e.failed || !strings.Contains(e.said, "the operator said no") {
		t.Errorf("got %+v, want %q in it", e, "the operator said no")
	}
	where := strings.TrimPrefix(address[:strings.Index(address, "/#")], "http://")
	if r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "sallyport://plugins"}); err != nil || strings.Contains(fmt.Sprint(r.Contents[0]), where) {
		t.Errorf("a client's list of plugins: got %v, %v, want no address of the console", r, err)
	}
	third := begin("/hour")
	b.click("/hour", "For an hour")
	if e := <-third; e.failed {
		t.Errorf("got %+v, want success", e)
	}
	if said, failed := h.fetch(session, "/hour"); failed { // answered for an hour: no question
		t.Errorf("/hour: got %q, want success without a question", said)
	}
	list, err := h.program("grants").Output()
	if err != nil || !strings.Contains(string(list), "fetch may net: GET "+h.site+"/hour") || !strings.Contains(string(list), "fetch may not GET "+h.site+"/once") {
		t.Errorf("got %s %v, want %q in it, %q in it", list, err, "fetch may net: GET "+h.site+"/hour", "fetch may not GET "+h.site+"/once")
	}
	// The console's token is in no answer, no log and not in the browser's address bar.
	token := address[strings.Index(address, "#")+1:]
	log, err := os.ReadFile(filepath.Join(h.state, "sallyport.log"))
	if err != nil || bytes.Contains(log, []byte(token)) {
		t.Errorf("the log: got the token in it, or %v, want a log without it", err)
	}
	if bar := b.eval("location.href"); strings.Contains(bar, token) {
		t.Errorf("location: got %s, want no token in it", bar)
	}
	b.click("/hour", "Take back")
	b.wait(`![...document.querySelectorAll(".row")].some(r => r.textContent.includes("/hour") && r.textContent.includes("Take back"))`)
	showsWords(t, h, b)
	oneClick(t, h, b)
	b.pictures("answers")
}

// showsWords checks that markup in every text of a question is shown as text.
func showsWords(t *testing.T, h *askingHost, b *tab) {
	t.Helper()
	const evil = `</p><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	s := store.New(store.Options{Dir: h.state})
	defer s.Close()
	_, err := s.Ask(context.Background(), store.Question{ID: "evil", Plugin: evil, Digest: evil, Principal: evil, Line: evil, Want: evil + "/**",
		Effect: evil, Why: evil, Binding: evil, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelector("#questions").innerText.includes("</p><img src=x")`)
	if got := b.eval(`[document.images.length, document.scripts.length, document.title]`); got != `[0,1,"(1) Sallyport: test"]` {
		t.Errorf("page: got %s, want no image and no script of the question", got)
	}
}

// oneClick checks that a second click at the same position does not answer the question that moved there.
func oneClick(t *testing.T, h *askingHost, b *tab) {
	t.Helper()
	s := store.New(store.Options{Dir: h.state})
	defer s.Close()
	for _, id := range []string{"one", "two"} {
		_, err := s.Ask(context.Background(), store.Question{ID: id, Plugin: "p", Digest: "d", Principal: "me", Line: "net: GET https://a.example/" + id,
			Effect: "GET https://a.example/" + id, Binding: id, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.click("</p><img", "Refuse")
	b.wait(`document.querySelectorAll(".question").length === 2 && performance.now() - moved >= settle`)
	var at [2]float64
	raw := b.eval(`(() => { const r = document.querySelector(".question .allow").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`)
	if err := json.Unmarshal([]byte(raw), &at); err != nil {
		t.Fatal(raw, err)
	}
	b.press(at)
	b.wait(`document.querySelectorAll(".question").length === 1`)
	b.press(at)
	// A button that takes a click disables those beside it until the host has answered, so that Refuse would be too late.
	b.click("a.example/two", "Refuse")
	b.wait(`document.querySelectorAll(".question").length === 0`)
	if q, err := s.Question(context.Background(), "two"); err != nil || !q.Refused {
		t.Errorf("question two: got %+v, %v, want it refused", q, err)
	}
}
