package wasi_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// gate is a gate with a WASI state only.
type gate struct{ state *wasi.State }

func (g gate) WASI() *wasi.State { return g.state }

func (gate) Ask(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
	return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nothing is offered"}
}

// memory is a guest's memory without a guest.
type memory []byte

func (m memory) Size() uint32 { return uint32(len(m)) }

func (m memory) Read(offset, size uint32) ([]byte, bool) {
	if uint64(offset)+uint64(size) > uint64(len(m)) {
		return nil, false
	}
	return m[offset : offset+size], true
}

func (m memory) Write(offset uint32, p []byte) bool {
	b, ok := m.Read(offset, uint32(len(p)))
	return ok && copy(b, p) == len(p)
}

// caller simulates a guest: it writes values to memory and calls functions by name.
type caller struct {
	t     testing.TB
	ctx   context.Context
	mem   memory
	funcs map[string]runtime.HostFunc
}

// Addresses of the parameters of a caller. Results are written to out.
const (
	out  = 0x100
	iovs = 0x400
	str  = 0x1000
	str2 = 0x3000
	buf  = 0x5000
)

func newCaller(t testing.TB, o wasi.Options) *caller {
	t.Helper()
	state := wasi.NewState(o)
	t.Cleanup(state.Close)
	c := &caller{t: t, mem: make(memory, 1<<16), funcs: make(map[string]runtime.HostFunc)}
	c.ctx = runtime.WithGate(t.Context(), gate{state})
	for _, f := range wasi.HostFuncs() {
		c.funcs[f.Name] = f
	}
	return c
}

func (c *caller) call(name string, p ...uint64) wasi.Errno {
	c.t.Helper()
	f, ok := c.funcs[name]
	if !ok || len(p) != len(f.Params) {
		c.t.Fatalf("%s: got no function with %d parameters, want one", name, len(p))
	}
	stack := append(make([]uint64, 0, len(p)+1), p...)
	if len(stack) == 0 {
		stack = stack[:1]
	}
	f.Call(c.ctx, c.mem, stack)
	return wasi.Errno(stack[0])
}

// must calls a function and fails the test unless it succeeds.
func (c *caller) must(name string, p ...uint64) {
	c.t.Helper()
	c.want(wasi.ESUCCESS, name, p...)
}

func (c *caller) want(e wasi.Errno, name string, p ...uint64) {
	c.t.Helper()
	if got := c.call(name, p...); got != e {
		c.t.Fatalf("%s%v: %v, want %v", name, p, got, e)
	}
}

func (c *caller) u16(at uint64) uint16 { return binary.LittleEndian.Uint16(c.mem[at:]) }
func (c *caller) u32(at uint64) uint32 { return binary.LittleEndian.Uint32(c.mem[at:]) }
func (c *caller) u64(at uint64) uint64 { return binary.LittleEndian.Uint64(c.mem[at:]) }

// put writes text and returns its pointer and length.
func (c *caller) put(at uint64, s string) (ptr, size uint64) {
	copy(c.mem[at:], s)
	return at, uint64(len(s))
}

// vector writes one buffer description and returns its pointer and count.
func (c *caller) vector(ptr, size uint64) (at, count uint64) {
	binary.LittleEndian.PutUint32(c.mem[iovs:], uint32(ptr))
	binary.LittleEndian.PutUint32(c.mem[iovs+4:], uint32(size))
	return iovs, 1
}

func (c *caller) write(fd uint64, s string) wasi.Errno {
	ptr, size := c.put(buf, s)
	v, n := c.vector(ptr, size)
	return c.call("fd_write", fd, v, n, out)
}

func (c *caller) read(fd, size uint64) (string, wasi.Errno) {
	v, n := c.vector(buf, size)
	if e := c.call("fd_read", fd, v, n, out); e != wasi.ESUCCESS {
		return "", e
	}
	return string(c.mem[buf : buf+c.u32(out)]), wasi.ESUCCESS
}

const (
	rightsRead  = 1 << 1
	rightsWrite = 1 << 6

	create    = 1
	directory = 2
	exclusive = 4
	truncate  = 8

	follow = 1
)

func (c *caller) open(path string, oflags, rights, fdflags uint64) (uint64, wasi.Errno) {
	ptr, size := c.put(str, path)
	e := c.call("path_open", 3, follow, ptr, size, oflags, rights, rights, fdflags, out)
	return uint64(c.u32(out)), e
}

func (c *caller) mustOpen(path string, oflags, rights, fdflags uint64) uint64 {
	c.t.Helper()
	fd, e := c.open(path, oflags, rights, fdflags)
	if e != wasi.ESUCCESS {
		c.t.Fatalf("open %s: got %v, want success", path, e)
	}
	return fd
}

// path1 calls a function with the parameters (folder, path).
func (c *caller) path1(name, path string) wasi.Errno {
	ptr, size := c.put(str, path)
	return c.call(name, 3, ptr, size)
}

func TestHostFuncs_all(t *testing.T) {
	want := map[string]string{ // of the specification, as Wasm types; I is i64
		"args_get": "ii", "args_sizes_get": "ii", "environ_get": "ii", "environ_sizes_get": "ii",
		"clock_res_get": "ii", "clock_time_get": "iIi", "fd_advise": "iIIi", "fd_allocate": "iII",
		"fd_close": "i", "fd_datasync": "i", "fd_fdstat_get": "ii", "fd_fdstat_set_flags": "ii",
		"fd_fdstat_set_rights": "iII", "fd_filestat_get": "ii", "fd_filestat_set_size": "iI",
		"fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi", "fd_prestat_get": "ii",
		"fd_prestat_dir_name": "iii", "fd_pwrite": "iiiIi", "fd_read": "iiii", "fd_readdir": "iiiIi",
		"fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i", "fd_tell": "ii", "fd_write": "iiii",
		"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
		"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii",
		"path_remove_directory": "iii", "path_rename": "iiiiii", "path_symlink": "iiiii",
		"path_unlink_file": "iii", "poll_oneoff": "iiii", "proc_exit": "i", "proc_raise": "i",
		"sched_yield": "", "random_get": "ii", "sock_accept": "iii", "sock_recv": "iiiiii",
		"sock_send": "iiiii", "sock_shutdown": "ii",
	}
	funcs := wasi.HostFuncs()
	if len(funcs) != 46 || len(want) != 46 {
		t.Errorf("%d functions, want 46", len(funcs))
	}
	for _, f := range funcs {
		var got strings.Builder
		for _, p := range f.Params {
			got.WriteString(map[byte]string{runtime.I32: "i", runtime.I64: "I"}[p])
		}
		params, ok := want[f.Name]
		results := 1
		if f.Name == "proc_exit" {
			results = 0
		}
		if !ok || got.String() != params || len(f.Results) != results || f.Module != "wasi_snapshot_preview1" {
			t.Errorf("got %s.%s(%s) with %d results, want wasi_snapshot_preview1 with (%s) and %d results", f.Module, f.Name, &got, len(f.Results), params, results)
		}
		delete(want, f.Name)
	}
	if len(want) != 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestHostFuncs_outsideACall(t *testing.T) {
	for _, f := range wasi.HostFuncs() {
		if f.Name == "proc_exit" {
			continue
		}
		stack := make([]uint64, max(1, len(f.Params)))
		f.Call(context.Background(), make(memory, 64), stack)
		if wasi.Errno(stack[0]) != wasi.ENOSYS {
			t.Errorf("%s without a state: got %v, want %v", f.Name, wasi.Errno(stack[0]), wasi.ENOSYS)
		}
	}
}

func TestHostFuncs_afterTheCall(t *testing.T) {
	c := newCaller(t, wasi.Options{})
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	c.ctx = ctx
	for _, name := range []string{"sched_yield", "fd_read", "poll_oneoff", "random_get"} {
		c.want(wasi.ECANCELED, name, make([]uint64, len(c.funcs[name].Params))...)
	}
}
