package main

import (
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// misbehaviour is the client's view of each misbehaviour of a guest.
var misbehaviour = []struct {
	tool    string
	isError bool
	want    string // a prefix of the text, or the whole text if it ends in a full line
	kind    string
}{
	{"fine", false, "hello", ""},
	{"panic", true, "misbehave-", "trap"}, // Go ends a library's panic with an unreachable instruction
	{"trap", true, "misbehave-", "trap"},
	{"loop", true, "misbehave-", "deadline"},
	{"exit", true, "misbehave-", "exit"},
	{"code", true, "misbehave-", "guest"},
	{"silent", true, "misbehave-", "guest"},
	{"stdout", false, "hello", ""},
	{"stderr", false, "hello", ""},
	{"huge", false, "xxxx", ""}, // truncated and marked
	{"gigabyte", true, "misbehave-", ""},
	{"claim", true, "misbehave-", ""},
	{"utf8", true, "misbehave-", "guest"},
	{"notjson", true, "misbehave-", "guest"},
	{"shape", true, "misbehave-", "guest"},
}

func TestMisbehave_endsTheCallAndNotTheHost(t *testing.T) {
	s := connect(t, "plugins: {misbehave: {limits: {deadline: 1s, concurrency: 2}}}", folder(t, guest(t, "misbehave")))
	for _, c := range misbehaviour {
		t.Run(c.tool, func(t *testing.T) {
			begin := time.Now()
			r := unhurried(t, s, c.kind, "misbehave-"+c.tool, map[string]any{"text": "hello"})
			if r.IsError != c.isError || !strings.HasPrefix(text(r), c.want) {
				t.Errorf("%s: got isError %v, text %q, want %v, %q", c.tool, r.IsError, text(r), c.isError, c.want)
			}
			if c.kind != "" && kindOf(r) != c.kind {
				t.Errorf("kind %v, want %s", kindOf(r), c.kind)
			}
			t.Logf("%v after %v: %q %v", r.IsError, time.Since(begin).Round(time.Millisecond), text(r), r.Meta)
			if got := text(unhurried(t, s, "", "misbehave-fine", map[string]any{"text": "next"})); got != "next" {
				t.Errorf("the next call: got %q, want next", got)
			}
		})
	}
}

func TestMisbehave_reservedNamesStayInside(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "misbehave")))
	r := call(t, s, "misbehave-meta", nil)
	info, _ := r.Meta["io.modelcontextprotocol/serverInfo"].(map[string]any)
	if info["name"] != "sallyport" {
		t.Errorf("serverInfo: got %v, want the host's name", info)
	}
	if r.Meta["com.mcp/x"] != nil {
		t.Errorf("com.mcp/x: got %v, want it removed", r.Meta)
	}
	if r.Meta["mine/ok"] == nil {
		t.Errorf("mine/ok: got meta %v, want it kept", r.Meta)
	}
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave-code32022"})
	if err == nil || strings.Contains(err.Error(), "-32022") {
		t.Errorf("a reserved error code: got %v, want another", err)
	}
}

func TestMisbehave_nothingOfTheHostIsThere(t *testing.T) {
	s := connect(t, "", folder(t, guest(t, "misbehave")))
	if got := text(call(t, s, "misbehave-environ", nil)); got != "PWD=/workspace" {
		t.Errorf("environment: got %q, want only PWD=/workspace", got)
	}
	for _, file := range []string{"/etc/passwd", "/", "../../etc/passwd", "/proc/self/environ"} {
		if got := text(call(t, s, "misbehave-file", map[string]any{"text": file})); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: got %q, want %q at its start", file, got, "error: ")
		}
	}
}
