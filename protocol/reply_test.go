package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestFreshFor(t *testing.T) {
	for ttl, want := range map[string]string{
		"": "0", "0": "0", "5000": "5000", "-1": "0", "1.5": "0", "1e3": "0", `"5"`: "0", "null": "0", "9999999999": "0",
	} {
		if got := freshFor(json.RawMessage(ttl)); string(got) != want {
			t.Errorf("%s: %s", ttl, got)
		}
	}
}

func TestGuestCode(t *testing.T) {
	for code, want := range map[int]int{
		0: 0, 7: 7, -31999: -31999, -32769: -32769, -32602: -32602, -32603: -32603,
		-32700: -32603, -32600: -32603, -32601: -32603,
		-32000: -32603, -32002: -32603, -32020: -32603, -32021: -32603, -32042: -32603, -32099: -32603, -32768: -32603,
	} {
		if got := guestCode(code); got != want {
			t.Errorf("%d: %d", code, got)
		}
	}
}

// What only the operator may see is in the log, with the call id that the client was given.
func TestFailed_LogsWhatClientsMustNotSee(t *testing.T) {
	for name, test := range map[string]struct{ fail, secret string }{
		"stack of a guest": {`{"kind":"trap","message":"trapped"}`, "secret stack"},
		"error of ours":    {`{"kind":"bug"}`, "secret detail"},
		"panic of ours":    {`{"kind":"panic"}`, "wire_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := NewServer(newCatalog(t, (&player{t: t}).obey), &Options{Logger: logTo(&log)})
			c := s.Connect(ConnOptions{})
			defer c.Close()
			r := handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any","_meta":{`+modernMeta+`,"fail":`+test.fail+`}}}`)
			if strings.Contains(string(r.Body), test.secret) {
				t.Errorf("the client sees %s", r.Body)
			}
			call := s.callPrefix + "1"
			if !strings.Contains(string(r.Body), call) {
				t.Errorf("the client does not see the call id: %s", r.Body)
			}
			if !strings.Contains(log.String(), test.secret) || !strings.Contains(log.String(), "call="+call) {
				t.Errorf("the log has %s", log.String())
			}
		})
	}
}

// An error that nobody has thought of is ours, and says nothing.
func TestFailed_Unknown(t *testing.T) {
	s := NewServer(newCatalog(t, nil), nil)
	r := &request{server: s, id: json.RawMessage("1"), method: "tools/call"}
	body, e := r.failed(errors.New("secret"))
	if e == nil || e.Code != jsonrpc.CodeInternal || strings.Contains(string(body), "secret") {
		t.Errorf("%s", body)
	}
}

func TestRefusal_ThreeLines(t *testing.T) {
	r := &request{}
	for _, m := range []string{"one\nline", "two\nlines", "two\nlines", "three\n\n\nlines"} {
		r.Denied(&runtime.AskError{Message: m, Hint: "net: a\nb\nc"})
	}
	var block struct{ Text string }
	if err := json.Unmarshal(r.refusal(""), &block); err != nil {
		t.Fatal(err)
	}
	want := []string{"refused: one", "to allow it: net: a", "and 2 more refused in this call"}
	if got := strings.Split(block.Text, "\n"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
