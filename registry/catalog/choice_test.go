package catalog

import (
	"encoding/json"
	"slices"
	"testing"
)

// Notifications accumulate; names that are not in the manifest show nothing, and a notification without names changes
// nothing.
func TestChoice_accumulatesNotifications(t *testing.T) {
	p := plugin(t, "p", `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}},
{"name":"c","inputSchema":{"type":"object"},"hidden":true}],"prompts":[{"name":"ask"}]}`)
	for _, step := range []struct {
		params string
		want   []string
	}{
		{`{}`, []string{"p-a", "p-b"}},
		{`{"show":["c","nothing"],"hide":["a"]}`, []string{"p-b", "p-c"}},
		{`{"show":["a"]}`, []string{"p-a", "p-b", "p-c"}},
		{`{"visible":["c","nothing"]}`, []string{"p-c"}},
		{`{"visible":7}`, []string{"p-c"}},
		{`{"hide":["c"]}`, nil},
	} {
		older := p
		was, _ := joined(t, older)
		if n, ok := ParseListChanged("notifications/tools/list_changed", json.RawMessage(step.params)); ok {
			p.Chosen = p.Chosen.After("alice", n, p.Manifest)
		}
		s, _ := joined(t, p)
		own, others := s.For("alice"), s.For("bob")
		if got := toolNames(own); !slices.Equal(got, step.want) || len(own.Prompts) != 1 || own != s.For("alice") {
			t.Errorf("%s: %q and %d prompts, want %q", step.params, got, len(own.Prompts), step.want)
		}
		if got := toolNames(others); !slices.Equal(got, []string{"p-a", "p-b"}) || len(others.Prompts) != 1 {
			t.Errorf("%s: got %q for another caller, want all", step.params, got)
		}
		if _, shown := own.Tool("p-c"); shown != slices.Contains(step.want, "p-c") {
			t.Errorf("%s: got p-c found: %v", step.params, shown)
		}
		if is, _ := joined(t, older); !slices.Equal(toolNames(is.For("alice")), toolNames(was.For("alice"))) {
			t.Errorf("%s: got the earlier choice changed to %q", step.params, toolNames(is))
		}
	}
}
