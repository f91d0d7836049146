package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

func TestOrder_asksTwiceAndOrders(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s × %s", r.FormValue("count"), r.FormValue("item"))
	}))
	answers := []string{`{"action":"accept","content":{"count":3}}`, `{"action":"accept","content":{"stars":5}}`}
	h.Answer("elicitation/create", func(json.RawMessage) (any, error) {
		next := json.RawMessage(answers[0])
		answers = answers[1:]
		return next, nil
	})
	got := h.Call("order", args{Shop: "https://shop.example/", Item: "tea"}).Text()
	if got != "3 of tea, 3 × tea, 5 stars" {
		t.Errorf("got %q, want \"3 of tea, 3 × tea, 5 stars\"", got)
	}
	answers = []string{`{"action":"decline"}`}
	if got := h.Call("order", args{Shop: "https://shop.example/", Item: "tea"}).Text(); got != "Nothing was ordered." {
		t.Errorf("got %q, want \"Nothing was ordered.\"", got)
	}
}
