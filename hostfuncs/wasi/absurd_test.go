package wasi_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// everything grants all paths in the mounts of a tree.
type everything struct{}

func (everything) Allow(jail.Op, string) error { return nil }
func (everything) Visible(string, bool) bool   { return true }
func (everything) Writable(string) bool        { return true }

func newTree(t testing.TB, dir string) *jail.Tree {
	files := jail.New([]jail.Mount{{Host: dir, Guest: "/w"}}, everything{})
	t.Cleanup(files.Close)
	return files
}

// absurd are values that a guest may pass as a pointer, a length, a descriptor or a flag.
var absurd = []uint64{0, 1, 3, 4, 0xfff8, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 8, 1<<32 - 1, 1 << 63, 1<<64 - 1}

func TestHostFuncs_surviveAbsurdParameters(t *testing.T) {
	c := newCaller(t, wasi.Options{Args: []string{"a"}, Env: []string{"B=c"}, Tree: newTree(t, t.TempDir())})
	ctx, cancel := context.WithTimeout(c.ctx, time.Hour)
	defer cancel()
	for name, f := range c.funcs {
		if name == "proc_exit" {
			continue
		}
		for i := range f.Params {
			for _, v := range absurd {
				for _, rest := range absurd {
					p := slices.Repeat([]uint64{rest}, len(f.Params))
					p[i] = v
					c.ctx = ctx
					if name == "poll_oneoff" {
						short, stop := context.WithTimeout(ctx, time.Millisecond)
						defer stop()
						c.ctx = short
					}
					if e := c.call(name, p...); e > wasi.ENOTCAPABLE {
						t.Fatalf("%s%x: got errno %d, want at most %d", name, p, e, wasi.ENOTCAPABLE)
					}
				}
			}
		}
	}
}

func TestHostFuncs_rejectBadPointers(t *testing.T) {
	c := newCaller(t, wasi.Options{Args: []string{"a"}, Env: []string{"B=c"}, Tree: newTree(t, t.TempDir())})
	fd := c.mustOpen("w/f", create, rightsRead|rightsWrite, 0)
	const bad = 1<<32 - 4
	name, size := c.put(str, "w/f")
	v, n := c.vector(buf, 4)
	for _, call := range []struct {
		name string
		p    []uint64
	}{
		{"args_get", []uint64{bad, buf}}, {"args_get", []uint64{buf, bad}},
		{"args_sizes_get", []uint64{bad, out}}, {"args_sizes_get", []uint64{out, bad}},
		{"environ_get", []uint64{bad, buf}}, {"environ_sizes_get", []uint64{out, bad}},
		{"clock_res_get", []uint64{0, bad}}, {"clock_time_get", []uint64{0, 0, bad}},
		{"random_get", []uint64{bad, 8}}, {"random_get", []uint64{8, 1<<32 - 1}},
		{"fd_fdstat_get", []uint64{fd, bad}}, {"fd_filestat_get", []uint64{fd, bad}},
		{"fd_prestat_get", []uint64{3, bad}}, {"fd_prestat_dir_name", []uint64{3, 1 << 16, 1}},
		{"fd_read", []uint64{fd, bad, 1, out}}, {"fd_read", []uint64{fd, v, n, bad}},
		{"fd_write", []uint64{fd, bad, 1, out}}, {"fd_write", []uint64{fd, v, n, bad}},
		{"fd_pread", []uint64{fd, bad, 1, 0, out}}, {"fd_pwrite", []uint64{fd, v, n, 0, bad}},
		{"fd_readdir", []uint64{3, bad, 64, 0, out}}, {"fd_readdir", []uint64{3, buf, 64, 0, bad}},
		{"fd_seek", []uint64{fd, 0, 0, bad}}, {"fd_tell", []uint64{fd, bad}},
		{"path_create_directory", []uint64{3, bad, 9}}, {"path_remove_directory", []uint64{3, bad, 9}},
		{"path_unlink_file", []uint64{3, bad, 9}}, {"path_filestat_get", []uint64{3, 0, name, size, bad}},
		{"path_filestat_set_times", []uint64{3, 0, bad, 9, 0, 0, 0}},
		{"path_link", []uint64{3, 0, bad, 9, 3, name, size}}, {"path_link", []uint64{3, 0, name, size, 3, bad, 9}},
		{"path_open", []uint64{3, 0, bad, 9, 0, 0, 0, 0, out}}, {"path_open", []uint64{3, 0, name, size, 0, 0, 0, 0, bad}},
		{"path_readlink", []uint64{3, bad, 9, buf, 9, out}}, {"path_rename", []uint64{3, bad, 9, 3, name, size}},
		{"path_symlink", []uint64{bad, 9, 3, name, size}}, {"path_symlink", []uint64{name, size, 3, bad, 9}},
		{"poll_oneoff", []uint64{bad, buf, 1, out}}, {"poll_oneoff", []uint64{buf, bad, 1, out}},
		{"poll_oneoff", []uint64{buf, buf, 1, bad}},
	} {
		c.want(wasi.EFAULT, call.name, call.p...)
	}
	if n, e := c.open("w", directory, rightsRead, 0); e != wasi.ESUCCESS || n != fd+1 {
		t.Errorf("after failed opens: got descriptor %d, %v, want %d", n, e, fd+1)
	}
}

func TestHostFuncs_boundCountsAndLengths(t *testing.T) {
	c := newCaller(t, wasi.Options{Tree: newTree(t, t.TempDir())})
	c.want(wasi.EINVAL, "fd_write", 1, iovs, 1025, out)
	c.want(wasi.EINVAL, "poll_oneoff", 0, 0, 0, out)
	c.want(wasi.EINVAL, "poll_oneoff", 0, 0, 1<<20, out)
	c.want(wasi.ENAMETOOLONG, "path_unlink_file", 3, 0, 4097)
	for path, e := range map[string]wasi.Errno{
		"":                              wasi.ENOENT,
		"w/a\x00b":                      wasi.EINVAL,
		"w/\xff":                        wasi.EILSEQ,
		"/w":                            wasi.EPERM,
		"..":                            wasi.EPERM,
		"w/../../w":                     wasi.EPERM,
		"w/" + strings.Repeat("n", 256): wasi.ENAMETOOLONG,
		strings.Repeat("w/../", 800):    wasi.EISDIR,
	} {
		if got := c.path1("path_unlink_file", path); got != e && !(e == wasi.EISDIR && got == wasi.EROFS) {
			t.Errorf("unlink %.20q: %v, want %v", path, got, e)
		}
	}
	open := 0
	for ; open < 2000; open++ {
		if _, e := c.open("w/f", create, rightsRead|rightsWrite, 0); e != wasi.ESUCCESS {
			if e != wasi.EMFILE {
				t.Errorf("open %d: got %v, want %v", open, e, wasi.EMFILE)
			}
			break
		}
	}
	if open != 508 {
		t.Errorf("got %d files open, want 508", open)
	}
}

func TestHostFuncs_boundTransfers(t *testing.T) {
	var sum counter
	c := newCaller(t, wasi.Options{Stdout: &sum})
	c.mem = make(memory, 1<<20)
	for i := range 1024 { // 1 GiB of the same megabyte
		binary.LittleEndian.PutUint32(c.mem[8*i+4:], 1<<20)
	}
	c.must("fd_write", 1, 0, 1024, out)
	if got := c.u32(out); got != 16<<20 || int(sum) != 16<<20 {
		t.Errorf("got %d bytes written, %d reported, want %d", sum, got, 16<<20)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func FuzzCalls(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte("\x1f\x03\x01w/file\x00\x00\x01\x42"))
	var names []string
	for _, fn := range wasi.HostFuncs() {
		if fn.Name != "proc_exit" {
			names = append(names, fn.Name)
		}
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		c := newCaller(t, wasi.Options{Args: []string{"a"}, Stdin: strings.NewReader("in"), Tree: newTree(t, t.TempDir())})
		c.ctx = runtime.WithGate(ctx, runtime.GateFrom(c.ctx))
		copy(c.mem, script)
		c.put(str, "w/f")
		for steps := 0; len(script) > 0 && steps < 64; steps++ {
			name := names[int(script[0])%len(names)]
			script = script[1:]
			p := make([]uint64, len(c.funcs[name].Params))
			for i := range p {
				p[i], script = fuzzValue(script)
			}
			if e := c.call(name, p...); e > wasi.ENOTCAPABLE {
				t.Fatalf("%s%x: got errno %d, want at most %d", name, p, e, wasi.ENOTCAPABLE)
			}
		}
	})
}

// fuzzValue reads a parameter from a script: mostly small numbers and addresses in memory.
func fuzzValue(script []byte) (uint64, []byte) {
	if len(script) == 0 {
		return 0, nil
	}
	b, rest := script[0], script[1:]
	switch {
	case b < 16:
		return uint64(b), rest
	case b < 32:
		return absurd[int(b)%len(absurd)], rest
	case b < 64:
		return str, rest
	case b < 80 && len(rest) >= 8:
		return binary.LittleEndian.Uint64(rest), rest[8:]
	}
	return uint64(b) << 4, rest
}
