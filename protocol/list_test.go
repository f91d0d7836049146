package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// The pages together have each entry once, in order, for every page size.
func TestList_pagesHoldEachEntryOnce(t *testing.T) {
	catalog := newCatalog(t, nil)
	var names []string
	for i := range 23 {
		names = append(names, fmt.Sprintf("n%02d", i))
	}
	addTools(t, catalog, nil, "many", names)
	for _, size := range []int{1, 7, 28, 1000} {
		s := NewServer(catalog, &Options{PageSize: size})
		c := s.Connect(ConnOptions{})
		var got []string
		for cursor := ""; ; {
			r := handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%q,"_meta":{%s}}}`, cursor, modernMeta))
			var page struct {
				Result struct {
					Tools      []struct{ Name string }
					NextCursor string
				}
			}
			if err := json.Unmarshal(r.Body, &page); err != nil || len(page.Result.Tools) > size {
				t.Fatalf("got %v, %s, want at most %d tools", err, r.Body, size)
			}
			for _, tool := range page.Result.Tools {
				got = append(got, tool.Name)
			}
			if cursor = page.Result.NextCursor; cursor == "" {
				break
			}
		}
		if len(got) != 28 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 28 {
			t.Errorf("pages of %d: got %v, want 28 entries in order, each once", size, got)
		}
		c.Close()
	}
}

// A list costs only the request and one allocation for the response.
func TestList_allocatesOnlyRequestAndResponse(t *testing.T) {
	s := NewServer(newCatalog(t, nil), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	handle(t, c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	r := newRequest(c, envelope.Call{ID: json.RawMessage(`"an id"`)}, nil)
	result, err := s.views.For(s.catalog, identity.Identity{}).Tools.Page(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { r.prepared(result) }); n != 1 {
		t.Errorf("a prepared response: got %v allocations, want 1", n)
	}
	m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if n := testing.AllocsPerRun(100, func() { c.Handle(t.Context(), &m, nil) }); n > 2 {
		t.Errorf("a list: got %v allocations, want 2", n)
	}
}

func TestServer_preparesListsOncePerSnapshot(t *testing.T) {
	catalog := newCatalog(t, nil)
	s := NewServer(catalog, nil)
	first := s.views.For(s.catalog, identity.Identity{})
	if s.views.For(s.catalog, identity.Identity{}) != first {
		t.Error("prepared again without a change")
	}
	addTools(t, catalog, nil, "more", []string{"x"})
	second := s.views.For(s.catalog, identity.Identity{})
	if second == first || len(second.Snapshot.Tools) != len(first.Snapshot.Tools)+1 {
		t.Error("a change is not seen")
	}
}

func TestServer_headerParamsAreThoseOfTheTool(t *testing.T) {
	s := NewServer(newCatalog(t, nil), nil)
	got := fmt.Sprint(s.HeaderParams(identity.Identity{}, "t-region"))
	if want := "[{Region [region] string} {Zone [where zone] integer}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.HeaderParams(identity.Identity{}, "t-any") != nil || s.HeaderParams(identity.Identity{}, "nothing") != nil {
		t.Error("a tool without marks has header params")
	}
}

// Definitions reach both eras unchanged, except for reserved keys.
func TestList_keepsDefinitions(t *testing.T) {
	s := NewServer(newCatalog(t, nil), nil)
	v := s.views.For(s.catalog, identity.Identity{})
	for _, modern := range []bool{true, false} {
		list, err := v.Tools.Page(nil, modern)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := jsonraw.Elements(jsonraw.Get(list, "tools"))
		if err != nil {
			t.Fatal(err)
		}
		got := string(tools[0])
		if !strings.Contains(got, `1e400`) || !strings.Contains(got, `"keep"`) || strings.Contains(got, "io.modelcontextprotocol/x") {
			t.Errorf("modern %v: got %s, want all but reserved members", modern, got)
		}
	}
}
