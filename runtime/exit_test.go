package runtime_test

import (
	"context"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

func TestPool_Call_cleansAnInstanceThatExited(t *testing.T) {
	for _, restore := range runtime.Restores() {
		var seen []runtime.Memory
		e := newEngine(t, &runtime.EngineOptions{Restore: restore, Host: []runtime.HostFunc{{Module: "h", Name: "f", Results: []byte{w.I32}, Call: func(_ context.Context, mem runtime.Memory, _ []uint64) {
			if was, _ := mem.Read(8, 1); mem.Size() != 1<<16 || was[0] != 0 {
				t.Errorf("restore %q: got %d bytes of memory with %d in it, want one page of zeros", restore, mem.Size(), was[0])
			}
			mem.Write(8, []byte{1})
			mem.(interface{ Grow(uint32) (uint32, bool) }).Grow(1)
			seen = append(seen, mem)
			runtime.Exit(3)
		}}}})
		p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, nil)
		for range 3 {
			wantEnd(t, callErr(p), runtime.KindExit, "code 3")
		}
		if len(seen) != 3 || seen[0] != seen[1] || seen[1] != seen[2] {
			t.Errorf("restore %q: got other instances after an exit, want the same one each time", restore)
		}
	}
}
