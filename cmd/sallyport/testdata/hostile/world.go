package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 fd_renumber
func fdRenumber(from, to int32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_close
func fdClose(fd int32) uint32

//go:wasmimport wasi_snapshot_preview1 path_open
func pathOpen(fd, flags int32, path unsafe.Pointer, size, oflags int32, base, inheriting int64, fdflags int32, out unsafe.Pointer) uint32

// files tries the ways out of a granted folder (a.Text), and says how each went.
func files(a args) int32 {
	root := a.Text
	open, out, secret := root+"/open/", root+"/out/", root+"/secret.txt"
	var t attempts
	t.read(root, open)
	t.changeReadOnly(open)
	t.change(root, open, out, secret)
	entries, err := os.ReadDir(open + "huge")
	t.note(fmt.Sprintf("huge folder of %d", len(entries)), err)
	t.lines = append(t.lines, descriptors(open, secret)...)
	return text("%s", strings.Join(t.lines, "\n"))
}

// attempts is a line for each thing that was tried.
type attempts struct{ lines []string }

func (t *attempts) note(name string, err error) {
	var p *fs.PathError
	var l *os.LinkError
	var s *os.SyscallError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	case errors.As(err, &s):
		err = s.Err
	}
	if err == nil {
		t.lines = append(t.lines, name+": ok")
	} else {
		t.lines = append(t.lines, name+": "+err.Error())
	}
}

func (t *attempts) get(name, path string) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = errors.New("read " + strings.TrimSpace(string(b[:min(len(b), 20)])))
	}
	t.note(name, err)
}

func (t *attempts) put(name, path string) { t.note(name, os.WriteFile(path, []byte("x"), 0o644)) }

// read reads by every way in and out of the granted folder.
func (t *attempts) read(root, open string) {
	t.get("granted", open+"hello.txt")
	t.get("dot dot", open+"../secret.txt")
	t.get("dot dot within a file", open+"hello.txt/../../secret.txt")
	t.get("absolute", "/etc/passwd")
	t.get("proc", "/proc/self/root/etc/passwd")
	t.get("proc fd", "/proc/self/fd/0")
	t.get("dev", "/dev/stdin")
	t.get("operator's link out", open+"up")
	t.get("operator's absolute link", open+"abs")
	t.get("operator's link in", open+"in")
	t.get("loop of links", open+"loop")
	t.get("fifo", open+"fifo")
	t.get("device by link", open+"device")
	t.get("NUL", open+"hello.txt\x00.png")
	t.get("case", open+"HELLO.TXT")
	t.get("trailing slash", open+"hello.txt/")
	t.get("long name", open+strings.Repeat("n", 5000))
	t.get("long path", open+strings.Repeat("d/", 4000)+"x")
	t.get("many dots", open+strings.Repeat("../", 500)+"etc/passwd")
	t.get("another spelling", strings.ReplaceAll(open, "/", "//")+"./hello.txt")
	above, err := os.ReadDir(root)
	t.note(fmt.Sprint("list the folder above ", above), err)
}

// changeReadOnly changes files that may only be read.
func (t *attempts) changeReadOnly(open string) {
	t.note("write what may be read", os.WriteFile(open+"hello.txt", []byte("x"), 0o644))
	_, err := os.OpenFile(open+"hello.txt", os.O_RDONLY|os.O_TRUNC, 0)
	t.note("truncate what may be read", err)
	t.note("chtimes what may be read", os.Chtimes(open+"hello.txt", time.Unix(1, 0), time.Unix(1, 0)))
	t.note("remove what may be read", os.Remove(open+"hello.txt"))
	t.get("still there", open+"hello.txt")
}

// change changes the folder that may be written, and leaves it by links and renames.
func (t *attempts) change(root, open, out, secret string) {
	t.put("write", out+"a")
	t.note("link to outside", os.Symlink("/etc/passwd", out+"passwd"))
	t.get("through it", out+"passwd")
	t.note("link upwards", os.Symlink("../secret.txt", out+"up"))
	t.get("through it too", out+"up")
	t.put("write through a link", out+"up")
	t.put("write through the operator's link", out+"write-up")
	t.note("hard link out", os.Link(secret, out+"hard"))
	t.note("hard link to what may be read", os.Link(open+"hello.txt", out+"hard2"))
	t.note("rename what may be read", os.Rename(open+"hello.txt", out+"moved"))
	t.note("rename out", os.Rename(out+"a", root+"/a"))
	t.note("rename over what may be read", os.Rename(out+"a", open+"hello.txt"))
	t.note("mkdir", os.MkdirAll(out+"d/e", 0o755))
	t.note("rename a folder into itself", os.Rename(out+"d", out+"d/e/f"))
	t.note("git hook", os.MkdirAll(out+".git/hooks", 0o755))
	t.put("ssh", out+".ssh/authorized_keys")
	t.put("mcp", out+".mcp.json")
	f, err := os.Create(out + "sparse")
	if err == nil {
		err = f.Truncate(1 << 50)
		f.Close()
	}
	t.note("petabyte", err)
}

// descriptors plays with the numbers of open files.
func descriptors(open, secret string) []string {
	var lines []string
	note := func(name string, errno uint32) {
		lines = append(lines, fmt.Sprintf("%s: %v", name, syscall.Errno(errno)))
	}
	var fd int32
	at := func(dir int32, path string, lookup int32) uint32 {
		return pathOpen(dir, lookup, unsafe.Pointer(unsafe.StringData(path)), int32(len(path)), 0, 2, 0, 0, unsafe.Pointer(&fd))
	}
	for dir := int32(0); dir < 3; dir++ {
		note(fmt.Sprint("open below ", dir), at(dir, "etc/passwd", 1))
	}
	note("open below -1", at(-1, "etc/passwd", 1))
	note("open an absolute path", at(3, secret, 1))
	note("open below the folder", at(3, strings.TrimPrefix(open, "/")+"hello.txt", 1))
	file := fd
	note("open below a file", at(file, "../../secret.txt", 1))
	note("renumber to 2^30", fdRenumber(file, 1<<30))
	note("renumber to -1", fdRenumber(file, -1))
	note("renumber over the root", fdRenumber(file, 3))
	note("open below what was the root", at(3, strings.TrimPrefix(secret, "/"), 1))
	note("close it", fdClose(3))
	note("open below it", at(3, "etc/passwd", 1))
	return lines
}

// race reads a file that is exchanged all the time, and says what it saw.
func race(a args) int32 {
	seen := map[string]int{}
	for end := time.Now().Add(time.Duration(a.N) * time.Millisecond); time.Now().Before(end); {
		for range 50 {
			b, err := os.ReadFile(a.Text)
			if err != nil {
				seen["error"]++
			} else {
				seen[strings.TrimSpace(string(b))]++
			}
		}
	}
	return text("%v", seen)
}

// fetch returns the status of the answer, or the kind of its error.
func fetch(a args) int32 {
	r := askText(a.Text)
	for _, key := range []string{`"kind":"`, `"status":`} {
		if _, after, ok := strings.Cut(r, key); ok {
			return text("%s", after[:strings.IndexAny(after, `",`)])
		}
	}
	return text("%.300s", r)
}

// drain reads the body of an answer to its end.
func drain(a args) int32 {
	r := askText(a.Text)
	_, after, ok := strings.Cut(r, `{"dev.sallyport/stream":`)
	if !ok {
		return text("%.300s", r)
	}
	var id int32
	fmt.Sscan(after, &id)
	buf, total, n := make([]byte, 1<<20), 0, int32(0)
	for {
		if n = read(id, unsafe.Pointer(&buf[0]), int32(len(buf))); n <= 0 {
			break
		}
		total += int(n)
	}
	return text("%d MiB, then %d", total>>20, n)
}

// flight keeps n requests open.
func flight(a args) int32 {
	ok, refused := 0, map[string]int{}
	for range a.N {
		r := askText(a.Text)
		if strings.Contains(r, `"status":200`) {
			ok++
			continue
		}
		_, kind, _ := strings.Cut(r, `"kind":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		refused[kind]++
	}
	return text("%d open, refused %v", ok, refused)
}
