package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

// The number of rounds per call is limited, even for a client that always answers.
func TestAsk_limitsRounds(t *testing.T) {
	const question = `[{"Method":"roots/list","Key":"r"}]`
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t-any",%s"_meta":{$CAPS%s}}}` + "\n"
	script := "@grant roots\n"
	script += fmt.Sprintf(call, 0, "", `,"ask":[`+question+strings.Repeat(","+question, inputrequest.MaxRounds)+`]`)
	for n := 1; n <= inputrequest.MaxRounds; n++ {
		script += fmt.Sprintf(call, n, fmt.Sprintf(`"inputResponses":{"r":{"roots":[]}},"requestState":"$STATE%d",`, n), "")
	}
	var out string
	synctest.Test(t, func(t *testing.T) { out = string(play(t, []byte(script))) })
	if n := strings.Count(out, `"input_required"`); n != inputrequest.MaxRounds || !strings.Contains(out, "the call asks more than 32 times") {
		t.Errorf("got %d rounds, want %d:\n%s", n, inputrequest.MaxRounds, out)
	}
}

// A state with an unreadable journal, such as one of another version, is refused, and the next request is served.
func TestResume_refusesUnreadableJournal(t *testing.T) {
	p := &player{t: t}
	s := NewServer(newCatalog(t, p.obey), &Options{})
	defer s.Close(t.Context())
	c := s.Connect(ConnOptions{Principal: "stdio:1"})
	defer c.Close()
	const params = `"name":"t-any","_meta":{` + askableMeta + `}`
	r := newRequest(c, envelope.Call{Method: "tools/call", Params: json.RawMessage("{" + params + "}")}, nil)
	text, err := s.waiting.Seal(&continuation.State{
		ID: "id", Purpose: r.resumption.purpose(), Call: "c", Round: 1, Expires: time.Now().Add(time.Minute).Unix(), Journal: []byte("of another version"),
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it was not consumed
		got := handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s,"requestState":%q}}`, params, text)).Body
		if want := continuation.ErrTampered.Error(); !strings.Contains(string(got), want) || !strings.Contains(string(got), "-32602") {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
