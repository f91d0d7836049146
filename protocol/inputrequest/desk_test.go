package inputrequest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Each request gets its own answer in any order, and client errors are mapped for the plugin.
func TestDesk_matchesAnswersToRequests(t *testing.T) {
	var d Desk
	var said []string
	tell := func(messages ...[]byte) {
		for _, m := range messages {
			said = append(said, string(m))
		}
	}
	var sent []*Sent
	for range 2 {
		s, err := d.Send("roots/list", nil, tell)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, s)
	}
	if strings.Join(said, "") != `{"jsonrpc":"2.0","id":1,"method":"roots/list"}{"jsonrpc":"2.0","id":2,"method":"roots/list"}` || d.Waiting() != 2 {
		t.Errorf("got %d waiting for %s, want 2", d.Waiting(), said)
	}
	result := []byte(`{"roots":[]}`)
	d.Answered(&jsonrpc.Message{ID: json.RawMessage("2"), Result: result})
	d.Answered(&jsonrpc.Message{ID: json.RawMessage("2"), Result: result})
	d.Answered(&jsonrpc.Message{ID: json.RawMessage("9"), Result: result})
	d.Answered(&jsonrpc.Message{ID: json.RawMessage("1"), Error: &jsonrpc.Error{Code: codeUserRejected, Message: "no"}})
	copy(result, "overwritten!")
	if a := sent[1].Wait(t.Context()); string(a.Result) != `{"roots":[]}` {
		t.Errorf("got %s, %v, want the second answer", a.Result, a.Err)
	}
	var refused *runtime.AskError
	if a := sent[0].Wait(t.Context()); !errors.As(a.Err, &refused) || refused.Kind != runtime.KindDenied || d.Waiting() != 0 {
		t.Errorf("got %v, %d waiting, want a denial and none", a.Err, d.Waiting())
	}
}

// A client that does not answer in time gets a cancellation, and the number of unanswered requests is limited.
func TestDesk_limitsTimeAndNumber(t *testing.T) {
	var d Desk
	var last string
	tell := func(messages ...[]byte) { last = string(messages[len(messages)-1]) }
	s, err := d.Send("roots/list", nil, tell)
	for range maxSent - 1 {
		_, err = d.Send("roots/list", nil, tell)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Send("roots/list", nil, tell); err == nil {
		t.Error("too many wait")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, runtime.ErrUnanswered)
	defer cancel()
	var late *runtime.AskError
	if a := s.Wait(ctx); !errors.As(a.Err, &late) || late.Kind != runtime.KindTimeout || d.Waiting() != maxSent-1 {
		t.Errorf("got %v, %d waiting, want a timeout and one less", a.Err, d.Waiting())
	}
	if !strings.Contains(last, `"method":"notifications/cancelled","params":{"requestId":1,`) {
		t.Errorf("got %s, want a cancellation", last)
	}
}
