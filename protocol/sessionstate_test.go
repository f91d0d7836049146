package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/notify"
)

func TestSessionState_subscriptionsAreLimited(t *testing.T) {
	var s SessionState
	for i := range notify.MaxTopics {
		if err := s.subscribe(fmt.Sprint("a:", i)); err != nil {
			t.Fatal(err)
		}
	}
	if s.subscribe("a:more") == nil || s.subscribe("a:1") != nil || len(s.Resources) != notify.MaxTopics {
		t.Errorf("got %d subscriptions, want %d, each once", len(s.Resources), notify.MaxTopics)
	}
}

// The state is the same after storage, and a change leaves the one before as it was.
func TestSessionState_isStoredWhole(t *testing.T) {
	c := NewServer(newCatalog(t, (&player{t: t}).obey), nil).Connect(ConnOptions{Notify: func([]byte) {}})
	defer c.Close()
	handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}},"clientInfo":{"name":"c\u00e9","version":"1"}}}`)
	began := c.State()
	handle(t, c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	handle(t, c, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`)
	if err := c.legacy.change(func(s *SessionState) error { return s.subscribe("a:b") }); err != nil {
		t.Fatal(err)
	}
	if began.Ready || began.Level != notify.Unset || len(began.Resources) != 0 {
		t.Errorf("the state before: got %+v, want it unchanged", began)
	}
	want := SessionState{Version: "2025-11-25", Capabilities: json.RawMessage(`{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}}`), Client: json.RawMessage(`"c\u00e9"`), Ready: true, Level: notify.Alert, Resources: map[string]bool{"a:b": true}}
	raw, err := json.Marshal(c.State())
	var got SessionState
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, %v, want %+v", raw, err, want)
	}
	other := c.server.Connect(ConnOptions{})
	defer other.Close()
	if other.Adopt(got); other.legacy.declared() != c.legacy.declared() || other.legacy.version() != "2025-11-25" || other.legacy.threshold() != notify.Alert {
		t.Errorf("got %+v, want the same session", other.State())
	}
	select {
	case <-other.legacy.readied:
	default:
		t.Error("the adopted session is not ready")
	}
}
