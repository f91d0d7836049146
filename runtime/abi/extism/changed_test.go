package extism

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// The changed list of a kept instance is read again, after the answer. That of an instance that ends with its call is not.
func TestServe_readsAChangedListAgain(t *testing.T) {
	m, err := module(t, compiled, built(t, "v2"))
	if err != nil {
		t.Fatal(err)
	}
	grows := func(o runtime.PoolOptions) []string {
		t.Helper()
		o.Start = func() (runtime.Gate, func()) { return newWorld(t, ""), func() {} }
		kept := runtime.NewPool(m, New(), &o)
		t.Cleanup(func() { _ = kept.Close(t.Context()) })
		var asked []string
		for _, tool := range []string{"grow", "echo"} {
			w := newWorld(t, "")
			result, err := kept.Call(t.Context(), runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"` + tool + `"}`)}, w)
			if err != nil || len(result) == 0 {
				t.Errorf("%s: got %s, %v, want its answer", tool, result, err)
			}
			asked = append(asked, w.asked...)
		}
		return asked
	}
	want := []string{`notifications/tools/list_changed`, `notifications/tools/list_changed {"visible":["echo","more"]}`}
	if got := grows(runtime.PoolOptions{State: runtime.StatePlugin}); !slices.Equal(got, want) {
		t.Errorf("kept: got %q, want %q", got, want)
	}
	want = []string{`notifications/tools/list_changed`, `notifications/tools/list_changed`}
	if got := grows(runtime.PoolOptions{}); !slices.Equal(got, want) {
		t.Errorf("a call of its own: got %q, want %q", got, want)
	}
}
