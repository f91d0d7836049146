package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A grant with ask: true is confirmed by the client's user for each request, and no answer is kept.
func TestConfirm_asksTheClientForEachRequest(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("page " + r.URL.Path)) }))
	defer site.Close()
	cmd := program(t, "plugins:\n  fetch:\n    grants:\n      - net: GET "+site.URL+"/**\n        ask: true\n", "serve", folder(t, bundled(t, "fetch")))
	var asked []string
	answer := "accept"
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, r.Params.Message)
			return &mcp.ElicitResult{Action: answer, Content: map[string]any{}}, nil
		},
	})
	session, err := client.Connect(t.Context(), commandTransport(cmd), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i, want := range []string{"page /x", "page /x", "the caller declined"} {
		if i == 2 {
			answer = "decline"
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch-fetch", Arguments: map[string]any{"url": site.URL + "/x"}})
		if err != nil || !strings.Contains(text(r), want) {
			t.Errorf("got %v %v, want %q in it", r, err, want)
		}
	}
	if len(asked) != 3 || asked[0] != "Sallyport asks: may plugin fetch GET "+site.URL+`/x, with the header "Accept: text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, `+
		`text/plain;q=0.8, */*;q=0.5", "User-Agent: sallyport-fetch/1.0"? Yes is for this one request.` {
		t.Errorf("got %q, want 3", asked)
	}
}
