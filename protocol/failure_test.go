package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Operator details are only in the log, with the call id that the client got.
func TestFail_keepsOperatorDetailsInTheLog(t *testing.T) {
	for name, test := range map[string]struct{ fail, secret string }{
		"stack of a guest": {`{"kind":"trap","message":"trapped"}`, "secret stack"},
		"error of ours":    {`{"kind":"bug"}`, "secret detail"},
		"panic of ours":    {`{"kind":"panic"}`, "plugin_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := NewServer(newCatalog(t, (&player{t: t}).obey), &Options{Logger: logTo(&log)})
			c := s.Connect(ConnOptions{})
			defer c.Close()
			r := handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t-any","_meta":{`+modernMeta+`,"fail":`+test.fail+`}}}`)
			if strings.Contains(string(r.Body), test.secret) {
				t.Errorf("got %s, want no secret", r.Body)
			}
			call := s.calls.prefix + "1"
			if !strings.Contains(string(r.Body), call) {
				t.Errorf("got %s, want the call id %s", r.Body, call)
			}
			if !strings.Contains(log.String(), test.secret) || !strings.Contains(log.String(), "call="+call) {
				t.Errorf("got log %s, want the secret and the call id", log.String())
			}
		})
	}
}

// An unexpected error is internal and reveals no details.
func TestFail_hidesUnexpectedErrors(t *testing.T) {
	s := NewServer(newCatalog(t, nil), nil)
	r := newRequest(s.Connect(ConnOptions{}), envelope.Call{ID: json.RawMessage("1"), Method: "tools/call"}, nil)
	body, e := r.fail(errors.New("secret"))
	if e == nil || e.Code != jsonrpc.CodeInternal || strings.Contains(string(body), "secret") {
		t.Errorf("got %s, want an internal error without details", body)
	}
}

// The client is told that the outcome of its call is not known, and not to repeat it.
func TestFail_tellsThatTheOutcomeIsNotKnown(t *testing.T) {
	var log bytes.Buffer
	s := NewServer(newCatalog(t, nil), &Options{Logger: logTo(&log)})
	r := newRequest(s.Connect(ConnOptions{}), envelope.Call{ID: json.RawMessage("1"), Method: "tools/call"}, nil)
	body, _ := r.fail(&runtime.EndError{Kind: runtime.KindUnknown, Message: "whether the keys were kept is not known", Err: errors.New("secret")})
	if got := string(body); !strings.Contains(got, "whether the keys were kept is not known") || !strings.Contains(got, `"kind":"unknown","retryable":false`) || strings.Contains(got, "secret") {
		t.Errorf("got %s, want the message, and not to retry", got)
	}
	if got := log.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "secret") {
		t.Errorf("got log %s, want an error with its cause", got)
	}
}
