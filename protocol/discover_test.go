package protocol

import (
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Capabilities depend on the client's version and on the server's entries.
func TestGreeter_capabilitiesDependOnVersionAndEntries(t *testing.T) {
	s := greeter{Form: envelope.NewForm(serverInfo("n", "1"))}
	tasks := json.RawMessage(`{"cancel":{}}`)
	for _, test := range []struct {
		answer json.RawMessage
		path   []string
		want   string
	}{
		{s.Initialize(envelope.V20251125, true, tasks), []string{"capabilities", "tasks"}, `{"cancel":{}}`},
		{s.Initialize(envelope.V20250618, true, tasks), []string{"capabilities", "tasks"}, ``},
		{s.Initialize(envelope.V20250618, true, tasks), []string{"capabilities", "resources"}, `{"listChanged":true,"subscribe":true}`},
		{s.Initialize(envelope.V20250618, false, tasks), []string{"capabilities", "tools"}, `{"listChanged":false}`},
		{s.Initialize(envelope.V20250618, false, tasks), []string{"serverInfo"}, `{"name":"n","version":"1"}`},
		{s.Discover(false, false), []string{"capabilities", "extensions"}, `{"io.modelcontextprotocol/tasks":{}}`},
		{s.Discover(true, true), []string{"capabilities", "extensions", extensionSkills}, `{"directoryRead":true}`},
		{s.Discover(true, true), []string{"capabilities", "extensions", "io.modelcontextprotocol/ui"}, `{}`},
		{s.Discover(true, true), []string{"ttlMs"}, `0`},
		{s.Discover(true, true), []string{"_meta", envelope.MetaServerInfo}, `{"name":"n","version":"1"}`},
	} {
		if err := jsonraw.Valid(test.answer); err != nil {
			t.Fatalf("%s: %v", test.answer, err)
		}
		if got := string(jsonraw.Get(test.answer, test.path...)); got != test.want {
			t.Errorf("%s of %s: got %s, want %s", test.path, test.answer, got, test.want)
		}
	}
}
