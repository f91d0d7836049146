package registry

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// folderOf200 creates a folder of 200 distinct packed plugins of 3 MB, with old file times.
func folderOf200(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	for i := range 200 {
		g := guest{manifest: tools(fmt.Sprintf("say%d", i), "other", "third"), answer: says("x"), pad: 3 << 20}
		old(b, g.write(b, dir, fmt.Sprintf("plugin%03d.wasm", i)))
	}
	return dir
}

func start200(b *testing.B, dir, state string) {
	o := Options{Dir: dir, State: state, Dialects: []Dialect{{Recognises: native.Recognises, Dialect: native.New()}}}
	r, err := New(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	if n := len(r.Snapshot().Tools); n != 600 {
		b.Fatalf("%d tools; %+v", n, r.Plugins()[0])
	}
	b.StopTimer()
	r.Close(b.Context())
	b.StartTimer()
}

// BenchmarkStart200 measures the time from New to a catalog with all plugins.
func BenchmarkStart200(b *testing.B) {
	dir := folderOf200(b)
	b.Run("unknown", func(b *testing.B) {
		for b.Loop() {
			start200(b, dir, "")
		}
	})
	b.Run("known", func(b *testing.B) {
		state := b.TempDir()
		start200(b, dir, state)
		for b.Loop() {
			start200(b, dir, state)
		}
	})
}

// BenchmarkGoCall measures the registry's own cost of a call.
func BenchmarkGoCall(b *testing.B) {
	r := open(b, Options{})
	addGo(b, r, "p", tools("t"))
	params := json.RawMessage(`{"name":"p-t","arguments":{"a":1,"b":"two"},"_meta":{"progressToken":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		tool, _ := r.Snapshot().Tool("p-t")
		if _, err := tool.Call(b.Context(), catalog.Call{ID: "1", Params: params}); err != nil {
			b.Fatal(err)
		}
	}
}
