package cache

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestCache_remembersAcrossRuns(t *testing.T) {
	dir := t.TempDir()
	c := Open(dir, discard())
	st := fileid.Stamp{Device: 1, Inode: 2, Size: 3, Mtime: 4, Ctime: 5}
	digest := fileid.Digest([]byte("x"))
	c.PutDigest(st, digest)
	c.PutModule(digest, Module{"native", 65536, 144, []byte(`{"tools":[]}`)})
	c.Flush()
	again := Open(dir, discard())
	if got, ok := again.Digest(st); !ok || got != digest {
		t.Errorf("got %q %v, want a hit, %v", got, ok, digest)
	}
	st.Ctime++
	if got, ok := again.Digest(st); ok {
		t.Errorf("another stamp: got %q, want none", got)
	}
	if m, ok := again.Module(digest); !ok || m.Dialect != "native" || m.Memory != 65536 || m.Beside != 144 || string(m.Manifest) != `{"tools":[]}` {
		t.Errorf("got %+v %v, want a hit, m.Dialect = \"native\", m.Memory = 65536, m.Beside = 144, string(m.Manifest) = \"{\"tools\":[]}\"", m, ok)
	}
	for _, path := range []string{again.digestsFile(), again.moduleFile(digest)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: got %v %v, want info.Mode().Perm()&0o077 = 0", path, info.Mode(), err)
		}
	}
}

func TestCache_ignoresWrongEntries(t *testing.T) {
	st, digest := fileid.Stamp{Size: 1}, fileid.Digest(nil)
	key := st.Key()
	for name, content := range map[string]string{
		"no json": "{", "another version": `{"version":99,"digests":{"` + key + `":"` + digest + `"}}`,
		"no digest": `{"version":1,"digests":{"` + key + `":"../../x"}}`, "upper case": `{"version":1,"digests":{"` + key + `":"` + strings.ToUpper(digest) + `"}}`,
		"an array": `[]`, "too large": `{"version":1,"x":"` + strings.Repeat("x", maxCacheFile) + `"}`,
	} {
		dir := t.TempDir()
		if err := writeAtomic(filepath.Join(dir, "digests.json"), []byte(content)); err != nil {
			t.Fatal(err)
		}
		c := Open(dir, discard())
		if got, ok := c.Digest(st); ok {
			t.Errorf("%s: got %q, want none", name, got)
		}
		c.PutDigest(st, digest)
		c.Flush()
		if got, ok := Open(dir, discard()).Digest(st); !ok || got != digest {
			t.Errorf("%s: got %q, %v after a new write; want %q", name, got, ok, digest)
		}
	}
	for name, content := range map[string]string{
		"no json": "{", "another digest": `{"version":2,"digest":"sha256:00","dialect":"native","memory":0,"manifest":{}}`,
		"another version": `{"version":1,"digest":"` + digest + `","dialect":"native","memory":0,"manifest":{}}`,
		"no manifest":     `{"version":2,"digest":"` + digest + `","dialect":"native","memory":0}`,
		"no memory":       `{"version":2,"digest":"` + digest + `","dialect":"native","manifest":{}}`,
	} {
		dir := t.TempDir()
		c := Open(dir, discard())
		if err := writeAtomic(c.moduleFile(digest), []byte(content)); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Module(digest); ok {
			t.Errorf("%s: got a module, want none", name)
		}
	}
}

func TestCache_limitsEntries(t *testing.T) {
	dir := t.TempDir()
	c := Open(dir, discard())
	for i := range maxCached + 100 {
		c.PutDigest(fileid.Stamp{Size: int64(i)}, fileid.Digest(nil))
	}
	c.Flush()
	if info, err := os.Stat(c.digestsFile()); err != nil || info.Size() > maxCacheFile {
		t.Fatalf("got %v %v, want info.Size() at most maxCacheFile", info, err)
	}
	again := Open(dir, discard())
	again.PutDigest(fileid.Stamp{Size: 1 << 40}, fileid.Digest(nil))
	again.Flush()
	if last := Open(dir, discard()); len(last.digests) > maxCached || last.digests[fileid.Stamp{Size: 1 << 40}.Key()] == "" {
		t.Errorf("got %d entries, want at most %d with the newest", len(last.digests), maxCached)
	}
}

func TestCache_limitsManifests(t *testing.T) {
	c := Open(t.TempDir(), discard())
	newest := fileid.Digest([]byte("newest"))
	if err := os.Mkdir(filepath.Join(c.dir, "manifests"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxCached {
		path := filepath.Join(c.dir, "manifests", fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			then := time.Now().Add(-time.Hour)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.PutModule(newest, Module{Dialect: "native", Manifest: []byte("{}")})
	c.Close()
	left, err := os.ReadDir(filepath.Join(c.dir, "manifests"))
	if err != nil || len(left) != maxCached/2 {
		t.Errorf("got %d manifests, %v; want %d", len(left), err, maxCached/2)
	}
	if _, ok := c.Module(newest); !ok {
		t.Error("newest module: got none, want it")
	}
	if _, err := os.Stat(filepath.Join(c.dir, "manifests", "0")); err == nil {
		t.Error("oldest manifest: got a file, want none")
	}
}
