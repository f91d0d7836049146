package main

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

func TestGreet(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	if got := h.Call("greet", args{Name: "Ada"}).Text(); got != "Hello, Ada!" {
		t.Errorf("got %q, want \"Hello, Ada!\"", got)
	}
}
