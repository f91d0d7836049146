package plugin

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// No setting has the memory of a description: limits.memory is that of calls.
func TestDescribe_namesNoSettingOfItsMemory(t *testing.T) {
	host := hostfuncs.NewHost(nil)
	defer host.Close()
	e, err := runtime.NewEngine(t.Context(), &runtime.EngineOptions{Host: native.HostFuncs()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	var m w.Module
	m.Memory(1, w.None)
	m.Export("mcp_handle", m.Func([]byte{w.I32}, []byte{w.I32}, nil, w.I32Const(DescribeMemory>>16), w.MemoryGrow, w.Drop, w.Unreachable))
	compiled, err := e.Compile(t.Context(), m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close()
	_, err = Describe(t.Context(), host, compiled, native.New(), "p")
	if want := "unreachable, after it was refused more than 256 MiB of memory, which no setting changes"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
