package wasi_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func BenchmarkCalls(b *testing.B) {
	c := newCaller(b, wasi.Options{Args: []string{"a"}, Env: []string{"PWD=/workspace"}})
	v, n := c.vector(c.put(buf, "a line of output\n"))
	for _, call := range []struct {
		name string
		p    []uint64
	}{
		{"clock_time_get", []uint64{1, 0, out}}, {"random_get", []uint64{buf, 32}}, {"fd_write", []uint64{1, v, n, out}},
		{"path_filestat_get", []uint64{3, 0, buf, 3, out}}, {"fd_prestat_get", []uint64{3, out}},
	} {
		b.Run(call.name, func(b *testing.B) {
			f, stack := c.funcs[call.name], make([]uint64, 9)
			b.ReportAllocs()
			for b.Loop() {
				copy(stack, call.p)
				f.Call(c.ctx, c.mem, stack)
			}
		})
	}
	b.Run("state", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			wasi.NewState(wasi.Options{Env: []string{"PWD=/workspace"}}).Close()
		}
	})
}
