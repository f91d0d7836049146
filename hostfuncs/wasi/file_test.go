package wasi_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func newFiles(t *testing.T) (*caller, string) {
	dir := t.TempDir()
	return newCaller(t, wasi.Options{Tree: newTree(t, dir)}), dir
}

func TestPreopen_isRoot(t *testing.T) {
	c := newCaller(t, wasi.Options{})
	c.must("fd_prestat_get", 3, out)
	if kind, size := c.mem[out], c.u32(out+4); kind != 0 || size != 1 {
		t.Errorf("prestat: got kind %d, length %d, want kind 0, length 1", kind, size)
	}
	c.must("fd_prestat_dir_name", 3, out, 1)
	if c.mem[out] != '/' {
		t.Errorf("preopen: got name %q, want /", c.mem[out])
	}
	c.want(wasi.ENAMETOOLONG, "fd_prestat_dir_name", 3, out, 0)
	for _, fd := range []uint64{0, 2, 4, 1 << 31} {
		c.want(wasi.EBADF, "fd_prestat_get", fd, out)
		c.want(wasi.EBADF, "fd_prestat_dir_name", fd, out, 9)
	}
	c.must("fd_fdstat_get", 3, out)
	if c.mem[out] != byte(wasi.TypeDirectory) || c.u64(out+8)&(1<<13|1<<14) == 0 || c.u64(out+8)&rightsWrite != 0 || c.u64(out+16) != 1<<30-1 {
		t.Errorf("root: got fdstat % x, want a folder with rights to open or list and none to write", c.mem[out:out+24])
	}
	c.want(wasi.ENOENT, "path_filestat_get", 3, 0, first(c.put(str, "etc")), 3, out)
	c.want(wasi.EROFS, "path_create_directory", 3, str, 3)
}

func first(ptr, _ uint64) uint64 { return ptr }

func TestFile_readWrite(t *testing.T) {
	c, dir := newFiles(t)
	fd := c.mustOpen("w/f", create|exclusive, rightsRead|rightsWrite, 0)
	if e := c.write(fd, "hello world"); e != wasi.ESUCCESS || c.u32(out) != 11 {
		t.Fatalf("write: got %v and %d bytes, want success and 11", e, c.u32(out))
	}
	c.must("fd_tell", fd, out)
	if c.u64(out) != 11 {
		t.Errorf("after the write: got position %d, want 11", c.u64(out))
	}
	c.must("fd_seek", fd, 6, 0, out)
	if s, _ := c.read(fd, 100); s != "world" {
		t.Errorf("read after seek 6: got %q, want world", s)
	}
	if s, e := c.read(fd, 100); s != "" || e != wasi.ESUCCESS {
		t.Errorf("read at the end: got %q, %v, want no bytes and success", s, e)
	}
	v, n := c.vector(first(c.put(buf, "HE")), 2)
	c.must("fd_pwrite", fd, v, n, 0, out)
	v, n = c.vector(buf, 5)
	c.must("fd_pread", fd, v, n, 0, out)
	if got := string(c.mem[buf : buf+5]); got != "HEllo" {
		t.Errorf("pread: got %q, want HEllo", got)
	}
	c.want(wasi.EINVAL, "fd_pread", fd, v, n, 1<<63, out)
	c.want(wasi.EFBIG, "fd_pwrite", fd, v, n, math.MaxInt64, out)
	for whence, want := range []uint64{0, 11, 11} {
		c.must("fd_seek", fd, 0, uint64(whence), out)
		if whence == 0 {
			c.must("fd_seek", fd, 11, 0, out)
		}
		if c.u64(out) != want && whence > 0 {
			t.Errorf("seek from %d: got position %d, want %d", whence, c.u64(out), want)
		}
	}
	minus := int64(-12)
	c.want(wasi.EINVAL, "fd_seek", fd, uint64(minus), 1, out)
	c.want(wasi.EINVAL, "fd_seek", fd, math.MaxInt64, 2, out)
	c.want(wasi.EINVAL, "fd_seek", fd, 0, 3, out)
	c.must("fd_allocate", fd, 5, 20)
	c.must("fd_allocate", fd, 0, 3)
	c.want(wasi.EINVAL, "fd_allocate", fd, 0, 0)
	c.want(wasi.EFBIG, "fd_allocate", fd, math.MaxInt64, 1)
	c.must("fd_advise", fd, 0, 0, 5)
	c.want(wasi.EINVAL, "fd_advise", fd, 0, 0, 6)
	c.must("fd_sync", fd)
	c.must("fd_datasync", fd)
	c.must("fd_filestat_get", fd, out)
	if c.mem[out+16] != byte(wasi.TypeRegular) || c.u64(out+32) != 25 || c.u64(out+24) != 1 || c.u64(out+8) == 0 {
		t.Errorf("got filestat % x, want a regular file of 25 bytes with 1 link and an inode", c.mem[out:out+64])
	}
	c.must("fd_filestat_set_size", fd, 11)
	c.want(wasi.EINVAL, "fd_filestat_set_size", fd, 1<<63)
	c.want(wasi.ENOTSUP, "fd_fdstat_set_rights", fd, 0, 0)
	c.must("fd_close", fd)
	c.want(wasi.EBADF, "fd_close", fd)
	if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != "HEllo world" {
		t.Errorf("got contents %q, want HEllo world", got)
	}
	if _, e := c.open("w/f", create|exclusive, rightsWrite, 0); e != wasi.EEXIST {
		t.Errorf("exclusive create of an existing file: got %v, want %v", e, wasi.EEXIST)
	}
	c.mustOpen("w/f", truncate, rightsWrite, 0)
	if got, _ := os.ReadFile(filepath.Join(dir, "f")); len(got) != 0 {
		t.Errorf("after truncate: got contents %q, want none", got)
	}
}

func TestFile_access(t *testing.T) {
	c, _ := newFiles(t)
	w := c.mustOpen("w/f", create, rightsWrite, 0)
	if _, e := c.read(w, 4); e != wasi.EBADF {
		t.Errorf("read of a write-only file: got %v, want %v", e, wasi.EBADF)
	}
	r := c.mustOpen("w/f", 0, rightsRead, 0)
	if e := c.write(r, "x"); e != wasi.EBADF {
		t.Errorf("write to a read-only file: got %v, want %v", e, wasi.EBADF)
	}
	c.want(wasi.EINVAL, "fd_filestat_set_size", r, 0)
	c.must("fd_fdstat_get", r, out)
	if c.mem[out] != byte(wasi.TypeRegular) || c.u64(out+8) != rightsRead {
		t.Errorf("got fdstat % x, want a regular file with rights %x", c.mem[out:out+24], rightsRead)
	}
	for path, want := range map[string]wasi.Errno{"w": wasi.EISDIR, "w/none": wasi.ENOENT, "w/f/x": wasi.ENOTDIR, "w/f/": wasi.ENOTDIR} {
		if _, e := c.open(path, 0, rightsWrite, 0); e != want {
			t.Errorf("open %s: %v, want %v", path, e, want)
		}
	}
	if _, e := c.open("w/f", directory, rightsRead, 0); e != wasi.ENOTDIR {
		t.Errorf("file opened as a folder: got %v, want %v", e, wasi.ENOTDIR)
	}
	if _, e := c.open("w/f", 16, rightsRead, 0); e != wasi.EINVAL {
		t.Errorf("unknown oflag: got %v, want %v", e, wasi.EINVAL)
	}
	d := c.mustOpen("w", directory, rightsRead, 0)
	if _, e := c.read(d, 4); e != wasi.EISDIR {
		t.Errorf("read of a folder: got %v, want %v", e, wasi.EISDIR)
	}
	c.want(wasi.EISDIR, "fd_seek", d, 0, 0, out)
	c.want(wasi.EISDIR, "fd_tell", d, out)
	ptr, size := c.put(str, "f")
	c.must("path_filestat_get", d, 0, ptr, size, out)
	c.want(wasi.ENOTDIR, "path_filestat_get", r, 0, ptr, size, out)
	c.want(wasi.EBADF, "path_filestat_get", 77, 0, ptr, size, out)
	c.want(wasi.EPERM, "path_filestat_get", d, 0, first(c.put(str, "../w/f")), 6, out)
}

func TestFile_append(t *testing.T) {
	c, dir := newFiles(t)
	const flagAppend = 1
	fd := c.mustOpen("w/log", create, rightsRead|rightsWrite, flagAppend)
	for _, s := range []string{"a", "b"} {
		if e := c.write(fd, s); e != wasi.ESUCCESS {
			t.Fatalf("write %q: got %v, want success", s, e)
		}
		c.must("fd_seek", fd, 0, 0, out)
	}
	plain := c.mustOpen("w/log", 0, rightsWrite, 0)
	c.must("fd_fdstat_set_flags", plain, flagAppend)
	if e := c.write(plain, "c"); e != wasi.ESUCCESS {
		t.Fatalf("write with the append flag set: got %v, want success", e)
	}
	c.must("fd_tell", plain, out)
	if c.u64(out) != 3 {
		t.Errorf("after append: got position %d, want 3", c.u64(out))
	}
	c.must("fd_fdstat_set_flags", plain, 0)
	c.must("fd_seek", plain, 0, 0, out)
	if e := c.write(plain, "A"); e != wasi.ESUCCESS {
		t.Fatalf("write with the append flag cleared: got %v, want success", e)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "log")); string(got) != "Abc" {
		t.Errorf("got contents %q, want Abc", got)
	}
}

func TestFile_times(t *testing.T) {
	c, dir := newFiles(t)
	fd := c.mustOpen("w/f", create, rightsRead|rightsWrite, 0)
	const at, mt = 1_000_000_000_000_001_000, 1_100_000_000_000_002_000
	ptr, size := c.put(str, "w/f")
	c.must("path_filestat_set_times", 3, follow, ptr, size, at, mt, 1|4)
	c.must("fd_filestat_get", fd, out)
	if c.u64(out+40) != at || c.u64(out+48) != mt {
		t.Errorf("times set by path: got %d, %d, want %d, %d", c.u64(out+40), c.u64(out+48), at, mt)
	}
	c.must("fd_filestat_set_times", fd, 0, at, 4)
	c.must("path_filestat_get", 3, follow, ptr, size, out)
	if c.u64(out+40) != at || c.u64(out+48) != at {
		t.Errorf("times set by descriptor: got %d, %d, want both %d", c.u64(out+40), c.u64(out+48), at)
	}
	before := time.Now().Truncate(wasi.Grain)
	c.must("fd_filestat_set_times", fd, 0, 0, 2|8)
	info, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil || info.ModTime().Before(before) {
		t.Errorf("times set to now: got %v, %v, want no earlier than %v", info.ModTime(), err, before)
	}
	c.want(wasi.EINVAL, "fd_filestat_set_times", fd, 0, 0, 1|2)
	c.want(wasi.EINVAL, "fd_filestat_set_times", fd, 0, 0, 16)
	c.want(wasi.EINVAL, "path_filestat_set_times", 3, 0, ptr, size, 0, 0, 4|8)
	c.want(wasi.EINVAL, "fd_filestat_set_times", 1, 0, 0, 0)
}

func TestPaths_resolveInTree(t *testing.T) {
	c, dir := newFiles(t)
	want := func(e wasi.Errno, name, path string) {
		t.Helper()
		if got := c.path1(name, path); got != e {
			t.Errorf("%s %s: %v, want %v", name, path, got, e)
		}
	}
	two := func(e wasi.Errno, name, from, to string) {
		t.Helper()
		a, an := c.put(str, from)
		b, bn := c.put(str2, to)
		p := []uint64{3, a, an, 3, b, bn}
		switch name {
		case "path_link":
			p = []uint64{3, 0, a, an, 3, b, bn}
		case "path_symlink":
			p = []uint64{a, an, 3, b, bn}
		}
		if got := c.call(name, p...); got != e {
			t.Errorf("%s %s %s: %v, want %v", name, from, to, got, e)
		}
	}
	want(wasi.ESUCCESS, "path_create_directory", "w/d")
	want(wasi.EEXIST, "path_create_directory", "w/d")
	want(wasi.ENOENT, "path_create_directory", "w/no/d")
	c.must("fd_close", c.mustOpen("w/d/f", create, rightsWrite, 0))
	want(wasi.ENOTEMPTY, "path_remove_directory", "w/d")
	want(wasi.EISDIR, "path_unlink_file", "w/d")
	want(wasi.ENOTDIR, "path_remove_directory", "w/d/f")
	two(wasi.ESUCCESS, "path_rename", "w/d/f", "w/d/g")
	two(wasi.ENOENT, "path_rename", "w/d/f", "w/d/h")
	two(wasi.EINVAL, "path_rename", "w/d", "w/d/sub")
	two(wasi.ESUCCESS, "path_link", "w/d/g", "w/d/second")
	two(wasi.EEXIST, "path_link", "w/d/g", "w/d/second")
	two(wasi.EPERM, "path_link", "w/d", "w/other")
	two(wasi.ESUCCESS, "path_symlink", "d/g", "w/l")
	two(wasi.EEXIST, "path_symlink", "d/g", "w/l")
	two(wasi.EPERM, "path_symlink", "/etc/passwd", "w/abs")

	ptr, size := c.put(str, "w/l")
	c.must("path_readlink", 3, ptr, size, buf, 100, out)
	if got := string(c.mem[buf : buf+c.u32(out)]); got != "d/g" {
		t.Errorf("readlink: got %q, want d/g", got)
	}
	c.must("path_readlink", 3, ptr, size, buf, 2, out)
	if c.u32(out) != 2 {
		t.Errorf("readlink into 2 bytes: got %d bytes, want 2", c.u32(out))
	}
	for flags, kind := range []wasi.Filetype{wasi.TypeSymlink, wasi.TypeRegular} {
		c.must("path_filestat_get", 3, uint64(flags), ptr, size, out)
		if c.mem[out+16] != byte(kind) {
			t.Errorf("filestat with flags %d: got type %d, want %d", flags, c.mem[out+16], kind)
		}
	}
	c.want(wasi.ELOOP, "path_open", 3, 0, ptr, size, 0, rightsRead, 0, 0, out)
	c.want(wasi.EINVAL, "path_readlink", 3, first(c.put(str, "w/d/g")), 5, buf, 9, out)
	want(wasi.ESUCCESS, "path_unlink_file", "w/l")
	want(wasi.ESUCCESS, "path_unlink_file", "w/d/g")
	want(wasi.ESUCCESS, "path_unlink_file", "w/d/second")
	want(wasi.ESUCCESS, "path_remove_directory", "w/d")
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("after removal: got entries %v, want none", left)
	}
}

// list reads a whole folder from a cookie on, with buffers of the given size.
func (c *caller) list(fd, cookie uint64, size uint64) (names []string, cookies []uint64) {
	c.t.Helper()
	for {
		c.must("fd_readdir", fd, buf, size, cookie, out)
		used := uint64(c.u32(out))
		b := c.mem[buf : buf+used]
		for len(b) >= 24 {
			n := binary.LittleEndian.Uint32(b[16:])
			if uint64(len(b)) < 24+uint64(n) {
				break
			}
			names = append(names, string(b[24:24+n]))
			cookie = binary.LittleEndian.Uint64(b)
			cookies = append(cookies, cookie)
			b = b[24+n:]
		}
		if used < size {
			return names, cookies
		}
	}
}

func TestReaddir_continuesAtCookie(t *testing.T) {
	c, dir := newFiles(t)
	const count = 3000
	want := []string{".", ".."}
	for i := range count {
		name := fmt.Sprintf("%s-%d", strings.Repeat("x", i%40), i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	fd := c.mustOpen("w", directory, rightsRead, 0)
	for _, size := range []uint64{100, 4096, 40000} {
		names, cookies := c.list(fd, 0, size)
		sorted := slices.Sorted(slices.Values(names))
		if !slices.Equal(sorted, want) {
			t.Fatalf("buffer of %d: %d names, want %d", size, len(names), len(want))
		}
		again, _ := c.list(fd, cookies[1234], size)
		if !slices.Equal(again, names[1235:]) {
			t.Errorf("list from cookie 1234: got %d names, want the %d after it", len(again), len(names[1235:]))
		}
	}
	names, _ := c.list(fd, 0, 4096)
	for _, name := range names[2:] { // removing entries while reading does not shift the rest
		if e := c.path1("path_unlink_file", "w/"+name); e != wasi.ESUCCESS {
			t.Fatalf("unlink %s: got %v, want success", name, e)
		}
	}
	if again, _ := c.list(fd, 2, 4096); len(again) != count {
		t.Errorf("old cookie after removal: got %d names, want %d", len(again), count)
	}
	if again, _ := c.list(fd, 0, 4096); len(again) != 2 {
		t.Errorf("listed anew: got %d names, want 2", len(again))
	}
	c.want(wasi.EINVAL, "fd_readdir", fd, buf, 100, 3, out)
	c.want(wasi.EINVAL, "fd_readdir", fd, buf, 100, 1<<63, out)
	c.want(wasi.ENOTDIR, "fd_readdir", 0, buf, 100, 0, out)
	c.want(wasi.EBADF, "fd_readdir", 50, buf, 100, 0, out)
	if root, _ := c.list(3, 0, 4096); !slices.Equal(root, []string{".", "..", "w"}) {
		t.Errorf("root: got entries %q, want ., .. and w", root)
	}
}

func TestRenamedFolder_staysOpen(t *testing.T) {
	c, dir := newFiles(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	fd := c.mustOpen("w/a/b", directory, rightsRead, 0)
	a, an := c.put(str, "w/a")
	b, bn := c.put(str2, "w/moved")
	c.must("path_rename", 3, a, an, 3, b, bn)
	ptr, size := c.put(str, "f")
	c.must("path_open", fd, 0, ptr, size, create, rightsWrite, 0, 0, out)
	if _, err := os.Stat(filepath.Join(dir, "moved/b/f")); err != nil {
		t.Error(err)
	}
}

func TestPreopen_closedIsBadDescriptor(t *testing.T) {
	c, _ := newFiles(t)
	c.must("fd_renumber", 3, 2)
	c.must("fd_prestat_get", 2, out)
	c.must("fd_close", 2)
	if _, e := c.open("w/f", create, rightsWrite, 0); e != wasi.EBADF {
		t.Errorf("open after the root's close: got %v, want %v", e, wasi.EBADF)
	}
}

func TestArgsAndEnv_copiedToMemory(t *testing.T) {
	c := newCaller(t, wasi.Options{Args: []string{"prog", "a b", "bad\x00"}, Env: []string{"K=v"}})
	c.must("args_sizes_get", out, out+4)
	if n, size := c.u32(out), c.u32(out+4); n != 2 || size != 9 {
		t.Errorf("got %d arguments of %d bytes, want 2 of 9", n, size)
	}
	c.must("args_get", out, buf)
	if got := string(c.mem[buf : buf+9]); got != "prog\x00a b\x00" || c.u32(out) != buf || c.u32(out+4) != buf+5 {
		t.Errorf("arguments: got %q at %x, %x, want prog and a b at %x, %x", got, c.u32(out), c.u32(out+4), buf, buf+5)
	}
	c.must("environ_sizes_get", out, out+4)
	c.must("environ_get", out, buf)
	if got := string(c.mem[buf : buf+4]); got != "K=v\x00" {
		t.Errorf("environment: got %q, want K=v", got)
	}
}

func TestClock_readsOptions(t *testing.T) {
	fixed := time.Unix(12, 345_678_901)
	c := newCaller(t, wasi.Options{Now: func() time.Time { return fixed }, Monotonic: func() int64 { return 7_654_321 }})
	for id, want := range []uint64{12_345_600_000, 7_600_000} {
		c.must("clock_time_get", uint64(id), 1, out)
		if got := c.u64(out); got != want {
			t.Errorf("clock %d: got %d, want %d", id, got, want)
		}
		c.must("clock_res_get", uint64(id), out)
		if got := c.u64(out); got != 100_000 {
			t.Errorf("clock %d: got grain %d, want 100000", id, got)
		}
	}
	for _, id := range []uint64{2, 3, 1<<32 - 1} {
		c.want(wasi.EINVAL, "clock_time_get", id, 0, out)
		c.want(wasi.EINVAL, "clock_res_get", id, out)
	}
	d := newCaller(t, wasi.Options{})
	d.must("clock_time_get", 0, 0, out)
	if off := time.Since(time.Unix(0, int64(d.u64(out)))); off < 0 || off > time.Minute {
		t.Errorf("default wall clock: got %v off, want at most a minute", off)
	}
	d.must("clock_time_get", 1, 0, out)
	if d.u64(out) < uint64(time.Second) {
		t.Errorf("default monotonic clock: got %d, want at least a second", d.u64(out))
	}
}

// Readings are told where a guest can be suspended: in clock_time_get, and in no other function that looks at a clock.
func TestClock_tellsEachReading(t *testing.T) {
	var told []bool
	c := newCaller(t, wasi.Options{Reads: func(wall bool) { told = append(told, wall) }})
	for _, id := range []uint64{1, 0, 1, 1} {
		c.must("clock_time_get", id, 0, out)
	}
	c.subscribe(0, 0, 1, 0, 0)
	c.poll(1)
	if want := []bool{false, true, false, false}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

func TestRandom_fillsMemory(t *testing.T) {
	c := newCaller(t, wasi.Options{Random: strings.NewReader("0123456789")})
	c.must("random_get", buf, 8)
	if got := string(c.mem[buf : buf+8]); got != "01234567" {
		t.Errorf("random: got %q, want 01234567", got)
	}
	c.want(wasi.EIO, "random_get", buf, 8)
	d := newCaller(t, wasi.Options{})
	d.must("random_get", buf, 32)
	if string(d.mem[buf:buf+32]) == strings.Repeat("\x00", 32) {
		t.Error("default random: got 32 zero bytes, want random ones")
	}
}

func TestHostFuncs_unsupportedReturnErrors(t *testing.T) {
	c := newCaller(t, wasi.Options{})
	c.want(wasi.ENOSYS, "proc_raise", 0)
	c.want(wasi.ESUCCESS, "sched_yield")
	for _, name := range []string{"sock_accept", "sock_recv", "sock_send", "sock_shutdown"} {
		args := make([]uint64, len(c.funcs[name].Params))
		for fd, e := range map[uint64]wasi.Errno{0: wasi.ENOTSOCK, 2: wasi.ENOTSOCK, 3: wasi.ENOTSOCK, 4: wasi.EBADF, 1<<32 - 1: wasi.EBADF} {
			args[0] = fd
			c.want(e, name, args...)
		}
	}
}

func TestErrno_describesItself(t *testing.T) {
	if wasi.ENOENT.Error() != "no such file or folder" || wasi.Errno(999).Error() != "errno 999" {
		t.Errorf("got %q and %q, want no such file or folder and errno 999", wasi.ENOENT, wasi.Errno(999))
	}
}
