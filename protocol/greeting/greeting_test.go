package greeting

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/era"
)

// Capabilities depend on the client's version and on the server's entries.
func TestServer(t *testing.T) {
	s := Server{Form: era.NewForm(Info("n", "1")), TTL: time.Second}
	tasks := json.RawMessage(`{"cancel":{}}`)
	for _, test := range []struct {
		answer json.RawMessage
		path   []string
		want   string
	}{
		{s.Initialize(era.V20251125, true, tasks), []string{"capabilities", "tasks"}, `{"cancel":{}}`},
		{s.Initialize(era.V20250618, true, tasks), []string{"capabilities", "tasks"}, ``},
		{s.Initialize(era.V20250618, true, tasks), []string{"capabilities", "resources"}, `{"listChanged":true,"subscribe":true}`},
		{s.Initialize(era.V20250618, false, tasks), []string{"capabilities", "tools"}, `{"listChanged":false}`},
		{s.Initialize(era.V20250618, false, tasks), []string{"serverInfo"}, `{"name":"n","version":"1"}`},
		{s.Initialize(era.V20250618, false, tasks), []string{"instructions"}, ``},
		{s.Discover(false, false), []string{"capabilities", "extensions"}, `{"io.modelcontextprotocol/tasks":{}}`},
		{s.Discover(true, true), []string{"capabilities", "extensions", Skills}, `{"directoryRead":true}`},
		{s.Discover(true, true), []string{"capabilities", "extensions", "io.modelcontextprotocol/ui"}, `{}`},
		{s.Discover(true, true), []string{"ttlMs"}, `1000`},
		{s.Discover(true, true), []string{"_meta", era.MetaServerInfo}, `{"name":"n","version":"1"}`},
		{(&Server{Instructions: "do"}).Discover(true, true), []string{"instructions"}, `"do"`},
	} {
		if err := jsonraw.Valid(test.answer); err != nil {
			t.Fatalf("%s: %v", test.answer, err)
		}
		if got := string(jsonraw.Get(test.answer, test.path...)); got != test.want {
			t.Errorf("%s of %s: %s", test.path, test.answer, got)
		}
	}
}
