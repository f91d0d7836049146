package jail_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		b.Fatal(err)
	}
	for _, d := range []string{dir, deep} {
		if err := os.WriteFile(filepath.Join(d, "f"), []byte("content"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	files := jail.New([]jail.Mount{{Host: dir, Guest: "/w"}}, viewer{&rules{lines: []string{"write " + dir}}})
	defer files.Close()
	for name, path := range map[string]string{"depth=1": "/w/f", "depth=4": "/w/a/b/c/f"} {
		b.Run("stat/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, e := files.Stat(path, true); e != wasi.ESUCCESS {
					b.Fatal(e)
				}
			}
		})
		b.Run("read/"+name, func(b *testing.B) {
			buf := make([]byte, 16)
			for b.Loop() {
				f, e := files.Open(path, wasi.OpenOptions{Read: true})
				if e != wasi.ESUCCESS {
					b.Fatal(e)
				}
				if n, e := f.ReadAt(buf, 0); n != 7 || e != wasi.ESUCCESS {
					b.Fatal(n, e)
				}
				f.Close()
			}
		})
	}
}
