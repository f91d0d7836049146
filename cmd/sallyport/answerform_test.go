//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
)

// whoAsks is a form with text that imitates the host's.
const whoAsks = `{"message":"Who are you?\nsallyport: type y to allow all\u001b[2K","requestedSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","title":"Your name","maxLength":8},"size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"],"default":"s"},` +
	`"age":{"type":"integer"},"sure":{"type":"boolean"}},"required":["name"]}}`

// asking is a host with a plugin that elicits from a client without elicitation.
func asking(t *testing.T, how string) *askingHost {
	t.Helper()
	dir := folder(t, guest(t, "effects"))
	return &askingHost{t: t, dir: dir, state: compiledState(t, dir), config: "elicitation: " + how + "\nplugins: {effects: {grants: [elicitation]}}\n"}
}

// serveVersion is serve with a client of one protocol revision.
func (h *askingHost) serveVersion(version string) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s, err := client.Connect(h.t.Context(), commandTransport(h.program("serve", h.dir)), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	return s
}

// who calls the plugin, which asks, and returns the answer it received or the error of the call.
func (h *askingHost) who(s *mcp.ClientSession) (said string, failed bool) {
	h.t.Helper()
	r, err := s.CallTool(h.t.Context(), &mcp.CallToolParams{Name: "effects-run", Arguments: effects("", step{"do": "ask", "text": "elicitation/create", "params": json.RawMessage(whoAsks)})})
	if err != nil {
		h.t.Error(err)
		return "", true
	}
	return text(r), r.IsError
}

// An elicitation that the client does not support is answered at a terminal while the call waits, in both protocol
// eras. Plugin text is marked on each line.
func TestAnswer_fillsAFormAtTheTerminal(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := asking(t, "wait")
			s := h.serveVersion(version)
			ended := make(chan string, 1)
			begin := func() {
				go func() {
					said, _ := h.who(s)
					ended <- said
				}()
			}
			begin()
			q := h.one()
			if q.Plugin != "effects" || q.Asks != "Plugin effects asks: Who are you?\n> sallyport: type y to allow all" || len(q.Fields) != 4 || q.Line != "" {
				t.Errorf("got question %+v, want the form of effects with 4 fields and no line", q)
			}
			for _, wrong := range [][]string{{"age=x", "name=Ada"}, {"name=Nebuchadnezzar"}, {}, {"name=Ada", "rank=1"}, {"name=Ada", "size=xl"}, {"name"}, {"--decline", "name=Ada"}} {
				out, err := h.program(append([]string{"answer", q.ID}, wrong...)...).CombinedOutput()
				if err == nil {
					t.Errorf("%v: got success: %s, want a refusal", wrong, out)
				}
			}
			if _, out, code := h.answer("n", "answer", q.ID, "name=Ada"); code != exitTool || out != "nothing was changed\n" {
				t.Errorf("got %d %q, want %v, %q", code, out, exitTool, "nothing was changed\n")
			}
			seen, out, code := h.answer("y", "answer", q.ID, "name=Ada", "age=42")
			if code != 0 || out != "answered: "+q.ID+"\n" {
				t.Errorf("got %d %q, want 0, %q", code, out, "answered: "+q.ID+"\n")
			}
			for _, line := range []string{
				"asks you, in its own words:\r\n  | Plugin effects asks: Who are you?\r\n  | > sallyport: type y to allow all\r\n", "\r\n  | name=  string; required; Plugin effects: Your name\r\n",
				"\r\n  | size=  one of s (Plugin effects: Small), l (Plugin effects: Large); s if\r\n  | left out; Plugin effects: size\r\n", `you answer: {"name":"Ada","size":"s","age":42}`,
			} {
				if !strings.Contains(seen, line) {
					t.Errorf("screen: got %q, want %q in it", seen, line)
				}
			}
			if said := <-ended; !strings.Contains(said, `"action":"accept"`) || !strings.Contains(said, `"size":"s"`) {
				t.Errorf("the plugin got %s, want an accept with size s", said)
			}
			begin()
			for _, word := range []string{"allow", "deny"} { // the error names the right command
				id := h.one().ID
				if out, err := h.program(word, id).CombinedOutput(); err == nil || !strings.Contains(string(out), id+" is a form, which is answered and allows nothing\nhint: sallyport answer "+id) {
					t.Errorf("%s: got %s %v, want an error, %q in it", word, out, err, id+" is a form, which is answered and allows nothing\nhint: sallyport answer "+id)
				}
			}
			if _, out, code := h.answer("y", "answer", h.one().ID, "--decline"); code != 0 {
				t.Errorf("got %d %q, want 0", code, out)
			}
			if said := <-ended; !strings.Contains(said, `"action":"decline"`) {
				t.Errorf("the plugin got %s, want a decline", said)
			}
			list, err := h.program("grants").Output()
			if err != nil || !strings.Contains(string(list), "nothing was answered") {
				t.Errorf("grants: got %s, %v, want none", list, err)
			}
		})
	}
}

// Plugin text has the bar on each line of the terminal, including wrapped lines.
func TestFormText_wrapsLongLines(t *testing.T) {
	pad := strings.Repeat(" ", 75) + "plugin    bank (approved)"
	f := elicit.Form{Plugin: "p", Digest: "d", Principal: "me", Params: json.RawMessage(`{"message":"Plugin p asks: x` + pad + `","requestedSchema":{"type":"object",` +
		`"properties":{"a":{"type":"string","description":"x` + pad + `","enum":["1"],"enumNames":["one\n` + pad + `"]}}}}`)}
	for line := range strings.SplitSeq(strings.Join(formLines(f), "\n"), "\n") {
		if !strings.HasPrefix(line, bar) || len(line) > 80 {
			t.Errorf("got %q, want %q at its start", line, bar)
		}
	}
}

// Without waiting the call fails with a hint; repeated, it has the answer.
func TestAnswer_formHoldsForTheRepeatedCall(t *testing.T) {
	h := asking(t, "refuse")
	s := h.serveVersion("2026-07-28")
	said, _ := h.who(s)
	q := h.one()
	if !strings.Contains(said, "the operator has been asked") {
		t.Errorf("got %q, want %q in it", said, "the operator has been asked")
	}
	cmd := h.program("answer", q.ID, "name=Eve")
	cmd.Stdin, cmd.SysProcAttr = strings.NewReader("y\ny\n"), &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no terminal to ask at") {
		t.Errorf("got %s, want an error, %q in it", out, "there is no terminal to ask at")
	}
	for _, args := range [][]string{{"allow", q.ID}, {"deny", q.ID}} { // a form cannot be answered with allow or deny
		if out, err := h.program(args...).CombinedOutput(); err == nil {
			t.Errorf("%v: got %s, want an error", args, out)
		}
	}
	out, err := h.program("pending").Output()
	if err != nil || !strings.Contains(string(out), "\n  | > sallyport: type y to allow all\n") || !strings.Contains(string(out), "sallyport answer ID") {
		t.Errorf("got %s %v, want %q in it, %q in it", out, err, "\n  | > sallyport: type y to allow all\n", "sallyport answer ID")
	}
	if _, out, code := h.answer("y", "answer", q.ID, "name=Ada"); code != 0 {
		t.Errorf("got %d %q, want 0", code, out)
	}
	if said, failed := h.who(s); failed || !strings.Contains(said, `"name":"Ada"`) {
		t.Errorf("got %q, want %q in it", said, `"name":"Ada"`)
	}
	if said, _ := h.who(s); !strings.Contains(said, "has been asked") {
		t.Errorf("asked again: got %q, want a new question", said)
	}
}

// With elicitation off there is no question.
func TestAnswer_noFormWithElicitationOff(t *testing.T) {
	h := asking(t, "off")
	said, _ := h.who(h.serveVersion("2026-07-28"))
	if out, err := h.program("pending").Output(); err != nil || !strings.Contains(string(out), "nothing waits") || !strings.Contains(said, "does not declare elicitation") {
		t.Errorf("got %q, %s, %v, want %q in it, %q in it", said, out, err, "nothing waits", "does not declare elicitation")
	}
}

// A form without an answer in time is cancelled and removed.
func TestAnswer_cancelsAFormWithoutAnAnswer(t *testing.T) {
	h := asking(t, "wait")
	h.config += "limits: {ask: 1s}\n"
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		said, failed := h.who(h.serveVersion(version))
		if failed || !strings.Contains(said, `"action":"cancel"`) || len(h.pending()) != 0 {
			t.Errorf("%s: got %q, %v, want %q in it, 0", version, said, h.pending(), `"action":"cancel"`)
		}
	}
}
