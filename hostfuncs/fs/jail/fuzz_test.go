package jail_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// FuzzEscape lets a guest perform random operations on paths and links of a few names. No sequence may read or change
// a path that is not granted.
func FuzzEscape(f *testing.F) {
	f.Add([]byte("\x01\x00\x10\x02\x03\x21\x05\x40"))
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		script := make([]byte, 300)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		const secret = "the secret"
		for _, d := range []string{"w/a", "w/b/c", "w/s", "out"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"w/s/key", "out/key"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Symlink("../out", filepath.Join(dir, "w/o"))
		r := &rules{lines: []string{"write " + filepath.Join(dir, "w"), "deny " + filepath.Join(dir, "w", "s")}}
		files := jail.New([]jail.Mount{{Host: filepath.Join(dir, "w"), Guest: "/w"}}, viewer{r})
		defer files.Close()
		p := player{files: files, start: "/w", script: script}
		for steps := 0; len(p.script) > 0 && steps < 100; steps++ {
			if got := p.step(); strings.Contains(got, secret) {
				t.Fatalf("got %q, want no secret in it", got)
			}
		}
		for _, d := range []string{"w/s", "out"} {
			entries, err := os.ReadDir(filepath.Join(dir, d))
			text, err2 := os.ReadFile(filepath.Join(dir, d, "key"))
			if err != nil || err2 != nil || len(entries) != 1 || string(text) != secret {
				t.Fatalf("%s: got entries %v, text %q, %v, %v, want only the secret", d, entries, text, err, err2)
			}
		}
	})
}

type player struct {
	files  *jail.Tree
	start  string
	script []byte
}

func (p *player) next() byte {
	if len(p.script) == 0 {
		return 0
	}
	b := p.script[0]
	p.script = p.script[1:]
	return b
}

// path builds a path of up to four names.
func (p *player) path(start string) string {
	names := [...]string{"a", "b", "c", "s", "o", "key", "..", "."}
	n := p.next()
	for range 1 + n%4 {
		start += "/" + names[p.next()%8]
	}
	if n&0x80 != 0 {
		start += "/"
	}
	return start
}

func (p *player) step() string {
	op, path := p.next(), p.path(p.start)
	switch op % 9 {
	case 0:
		p.files.Mkdir(path)
	case 1:
		p.files.Symlink(strings.TrimPrefix(p.path(""), "/"), path)
	case 2:
		p.files.Rename(path, p.path(p.start))
	case 3:
		p.files.Link(path, p.path(p.start), op&0x80 != 0)
	case 4:
		p.files.Unlink(path)
	case 5:
		p.files.Rmdir(path)
	case 6:
		p.files.Chtimes(path, wasi.Times{}, op&0x80 != 0)
	case 7:
		if f, e := p.files.Open(path, wasi.OpenOptions{Write: true, Create: true, Truncate: true}); e == wasi.ESUCCESS {
			_, _ = f.WriteAt([]byte("written"), 0)
			f.Close()
		}
	}
	return p.read(path)
}

func (p *player) read(path string) string {
	f, e := p.files.Open(path, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return ""
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.ReadAt(b, 0)
	return string(b[:n])
}
