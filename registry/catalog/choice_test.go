package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
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
		own, others := s.For(identity.Identity{Principal: "alice"}), s.For(identity.Identity{Principal: "bob"})
		if got := toolNames(own); !slices.Equal(got, step.want) || len(own.Prompts) != 1 || own != s.For(identity.Identity{Principal: "alice"}) {
			t.Errorf("%s: %q and %d prompts, want %q", step.params, got, len(own.Prompts), step.want)
		}
		if got := toolNames(others); !slices.Equal(got, []string{"p-a", "p-b"}) || len(others.Prompts) != 1 {
			t.Errorf("%s: got %q for another caller, want all", step.params, got)
		}
		if _, shown := own.Tool("p-c"); shown != slices.Contains(step.want, "p-c") {
			t.Errorf("%s: got p-c found: %v", step.params, shown)
		}
		if is, _ := joined(t, older); !slices.Equal(toolNames(is.For(identity.Identity{Principal: "alice"})), toolNames(was.For(identity.Identity{Principal: "alice"}))) {
			t.Errorf("%s: got the earlier choice changed to %q", step.params, toolNames(is))
		}
	}
}

// A rule limits the callers in addition to the plugin's own choice, and a changed rule changes the lists.
func TestCallerRule_limitsTheAudience(t *testing.T) {
	p := plugin(t, "p", tools("a", "b"))
	open, _ := joined(t, p)
	who := func(name string) identity.Who {
		w, err := identity.ParseWho([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	p.Callers = []CallerRule{{Who: who("group:ops")}, {Who: who("token:ann"), Only: []string{"a", "nothing"}}}
	ruled, _ := joined(t, p)
	if c := Between(open, ruled); !c.Tools {
		t.Errorf("got %+v, want changed tools", c)
	}
	offer := Publish(p)
	if len(offer.Problems) != 1 || !strings.Contains(offer.Problems[0], `"nothing"`) {
		t.Errorf("got problems %q, want one of \"nothing\"", offer.Problems)
	}
	n, _ := ParseListChanged("notifications/tools/list_changed", json.RawMessage(`{"hide":["a"]}`))
	p.Chosen = p.Chosen.After("token:ann", n, p.Manifest)
	chosen, _ := joined(t, p)
	for _, test := range []struct {
		id          identity.Identity
		ruled, then []string
	}{
		{identity.Identity{}, nil, nil},
		{identity.Identity{Principal: "token:bob"}, nil, nil},
		{identity.Identity{Principal: "token:bob", Groups: []string{"ops"}}, []string{"p-a", "p-b"}, []string{"p-a", "p-b"}},
		{identity.Identity{Principal: "token:ann"}, []string{"p-a"}, nil},
		{identity.Identity{Principal: "token:ann", Groups: []string{"ops"}}, []string{"p-a", "p-b"}, []string{"p-b"}},
	} {
		if got := toolNames(ruled.For(test.id)); !slices.Equal(got, test.ruled) {
			t.Errorf("%v: got %q, want %q", test.id, got, test.ruled)
		}
		if got := toolNames(chosen.For(test.id)); !slices.Equal(got, test.then) {
			t.Errorf("%v, after ann's choice: got %q, want %q", test.id, got, test.then)
		}
	}
	p.Callers[0].Who = who("group:dev")
	moved, _ := joined(t, p)
	if c := Between(chosen, moved); !c.Tools {
		t.Errorf("got %+v, want changed tools for another group", c)
	}
}

// Views beyond the limit are right and not kept.
func TestFor_keepsFewViews(t *testing.T) {
	p := plugin(t, "p", tools("a"))
	for i := range 12 {
		who, err := identity.ParseWho([]string{fmt.Sprintf("group:%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		p.Callers = append(p.Callers, CallerRule{Who: who})
	}
	s, _ := joined(t, p)
	for n := range 1 << 12 {
		id := identity.Identity{Principal: "token:ann"}
		for i := range 12 {
			if n>>i&1 == 1 {
				id.Groups = append(id.Groups, fmt.Sprint(i))
			}
		}
		slices.Sort(id.Groups)
		if got := len(s.For(id).Tools); got != min(n, 1) {
			t.Fatalf("%v: got %d tools, want %d", id.Groups, got, min(n, 1))
		}
	}
	kept := 0
	s.views.Range(func(any, any) bool { kept++; return true })
	if kept > maxViews {
		t.Errorf("got %d views, want at most %d", kept, maxViews)
	}
}
