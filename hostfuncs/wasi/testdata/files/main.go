// Command files exercises a folder through Go's standard library, as a guest does.
package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing/fstest"
	"time"
)

func main() {
	dir, err := os.Getwd()
	check("getwd", err)
	check("args", expect(os.Args[1:], []string{"one", "two"}))
	check("write", os.WriteFile("a.txt", []byte("hello\n"), 0o644))
	data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	check("read", err)
	check("content", expect(string(data), "hello\n"))
	check("mkdir", os.MkdirAll("deep/er/est", 0o755))
	check("append", appendTo("a.txt", "world\n"))
	check("seek", seeks("a.txt"))
	check("rename", os.Rename("a.txt", "deep/b.txt"))
	_, err = os.Stat("a.txt")
	check("gone", wants(err, fs.ErrNotExist))
	check("symlink", os.Symlink("deep/b.txt", "link"))
	real, err := filepath.EvalSymlinks("link")
	check("evalsymlinks", err)
	check("target", expect(real, filepath.Join("deep", "b.txt")))
	check("link", os.Link("deep/b.txt", "deep/c.txt"))
	check("samefile", sameFile("deep/b.txt", "deep/c.txt"))
	check("chtimes", times("deep/b.txt"))
	check("truncate", os.Truncate("deep/c.txt", 3))
	check("walk", walk())
	check("many", many())
	check("fstest", fstest.TestFS(os.DirFS("deep"), "b.txt", "er/est"))
	check("root", root())
	check("outside", outside())
	check("removeall", os.RemoveAll("deep"))
	check("clock", clocks())
	check("random", random())
	in, err := io.ReadAll(os.Stdin)
	check("stdin", err)
	check("stdin content", expect(string(in), "from the host"))
	fmt.Println("all well")
	fmt.Fprintln(os.Stderr, "to the log")
	os.Exit(7)
}

func check(what string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
}

func expect(got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func wants(err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("got error %v, want %v", err, want)
	}
	return nil
}

func appendTo(name, s string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(s)
	return errors.Join(err, f.Close())
}

func seeks(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(-6, io.SeekEnd); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte("J"), 0); err != nil {
		return err
	}
	c := make([]byte, 5)
	if _, err := f.ReadAt(c, 0); err != nil {
		return err
	}
	return errors.Join(expect(string(b), "world\n"), expect(string(c), "Jello"), f.Sync())
}

func sameFile(a, b string) error {
	x, err := os.Stat(a)
	if err != nil {
		return err
	}
	y, err := os.Stat(b)
	if err != nil {
		return err
	}
	if !os.SameFile(x, y) {
		return errors.New("two names of one file differ")
	}
	return nil
}

func times(name string) error {
	t := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	if err := os.Chtimes(name, time.Time{}, t); err != nil {
		return err
	}
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	return expect(st.ModTime().UTC(), t)
}

func walk() error {
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	return errors.Join(err, expect(names, []string{".", "deep", "deep/b.txt", "deep/c.txt", "deep/er", "deep/er/est", "link"}))
}

func many() error {
	if err := os.Mkdir("many", 0o755); err != nil {
		return err
	}
	var want []string
	for i := range 700 {
		name := fmt.Sprintf("f%04d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join("many", name), nil, 0o644); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir("many")
	if err != nil {
		return err
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("listed %d of %d", len(got), len(want))
	}
	return os.RemoveAll("many")
}

func root() error {
	r, err := os.OpenRoot("deep")
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.WriteFile("er/new", []byte("x"), 0o644); err != nil {
		return err
	}
	if _, err := r.ReadFile("../link"); err == nil {
		return errors.New("a root was left")
	}
	return r.Remove("er/new")
}

func outside() error {
	_, err := os.ReadFile("/etc/passwd")
	err2 := os.Symlink("/etc/passwd", "evil")
	err3 := os.Symlink("../../../../etc/passwd", "evil")
	entries, err4 := os.ReadDir("/")
	return errors.Join(wants(err, fs.ErrNotExist), wants(err2, fs.ErrPermission), wants(err3, fs.ErrPermission),
		err4, expect(len(entries), 1))
}

func clocks() error {
	start := time.Now()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { time.Sleep(20 * time.Millisecond) })
	}
	wg.Wait()
	if took := time.Since(start); took < 20*time.Millisecond || took > 5*time.Second {
		return fmt.Errorf("five sleeps of 20ms at once took %v", took)
	}
	if start.Year() < 2024 {
		return fmt.Errorf("it is %v", start)
	}
	return nil
}

func random() error {
	a, b := make([]byte, 32), make([]byte, 32)
	if _, err := rand.Read(a); err != nil {
		return err
	}
	if _, err := rand.Read(b); err != nil {
		return err
	}
	if bytes.Equal(a, b) {
		return errors.New("random bytes repeat")
	}
	return nil
}
