package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// TestRehearse_seesThatAPluginKeepsNothing uses an Extism plugin in Rust, whose memory is the same after equal calls, and a
// plugin of the native ABI, which is not rehearsed.
func TestRehearse_seesThatAPluginKeepsNothing(t *testing.T) {
	engine, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{Host: append(append(wasi.HostFuncs(), native.HostFuncs()...), extism.HostFuncs()...)})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	host := hostfuncs.NewHost(nil)
	defer host.Close()
	for guest, c := range map[string]struct {
		dialect runtime.Dialect
		want    plugin.Residue
	}{
		"extismrust": {extism.New(), plugin.KeepsNothing},
		"rust":       {native.New(), ""},
	} {
		wasm, err := os.ReadFile(filepath.Join("..", "..", "cmd", "bench", "testdata", guest, "echo.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plugin.Rehearse(t.Context(), engine, host, wasm, c.dialect); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", guest, got, err, c.want)
		}
	}
}
