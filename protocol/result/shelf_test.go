package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// The pages together give the full answer without split characters, only to its principal.
func TestShelf_pagesTheWholeAnswerToItsPrincipal(t *testing.T) {
	s := Shelf{Store: storetest.Open(t, store.Options{Dir: t.TempDir()})}
	long := strings.Repeat("é", pageBytes) // of two bytes each
	o := jsonraw.Object{{Key: "content", Value: Content(Text("x"+long), Text("end"))}}
	uri, err := s.Put(t.Context(), "ada", o)
	if err != nil || !Holds(uri) {
		t.Fatal(uri, err)
	}
	var got strings.Builder
	pages := 0
	for next := uri; next != ""; pages++ {
		page, ok := s.Page(t.Context(), "ada", next)
		if !ok {
			t.Fatalf("no page at %s", next)
		}
		entries, err := jsonraw.Elements(page.Get("contents"))
		if err != nil || len(entries) != 1 {
			t.Fatal(err)
		}
		text, _ := jsonraw.String(jsonraw.Get(entries[0], "text"))
		got.WriteString(text)
		next, _ = jsonraw.String(jsonraw.Get(entries[0], "_meta", "dev.sallyport/next"))
	}
	if got.String() != "x"+long+"\nend" || pages != 3 {
		t.Errorf("got %d bytes in %d pages, want the whole answer in 3", got.Len(), pages)
	}
	for _, test := range []struct{ who, uri string }{
		{"eve", uri}, {"ada", uri + "x"}, {"ada", uri + "?offset=999999"}, {"ada", uri + "?offset=-1"}, {"ada", uri + "?x"}, {"ada", shelfURI}, {"ada", "file:///x"},
	} {
		if page, ok := s.Page(t.Context(), test.who, test.uri); ok {
			t.Errorf("%s reads %s: got %.80s, want none", test.who, test.uri, page.Append(nil))
		}
	}
	if uri, err := (Shelf{}).Put(t.Context(), "ada", o); uri != "" || err != nil {
		t.Errorf("without a store: got %q, %v, want none", uri, err)
	}
}

// Answers other than text are stored as JSON.
func TestShelf_storesDataAsJSON(t *testing.T) {
	o := jsonraw.Object{{Key: "content", Value: json.RawMessage(`[]`)}, {Key: "structuredContent", Value: json.RawMessage(`{"a":1e400}`)}}
	if got := string(whole(o)); got != `{"content":[],"structuredContent":{"a":1e400}}` {
		t.Errorf("got %v, want %v", got, `{"content":[],"structuredContent":{"a":1e400}}`)
	}
}
