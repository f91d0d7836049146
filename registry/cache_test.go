package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	spruntime "github.com/sallyport-mcp/sallyport/runtime"
)

// old sets a file's times to an hour ago, so that it has settled long since.
func old(t testing.TB, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestCache_RemembersAcrossRuns(t *testing.T) {
	dir := t.TempDir()
	c := openCache(dir, discard())
	st := stamp{device: 1, inode: 2, size: 3, mtime: 4, ctime: 5}
	digest := digestOf([]byte("x"))
	c.putDigest(st, digest)
	c.putModule(digest, "native", []byte(`{"tools":[]}`))
	c.flush()
	again := openCache(dir, discard())
	if got, ok := again.digest(st); !ok || got != digest {
		t.Errorf("%q %v", got, ok)
	}
	st.ctime++
	if _, ok := again.digest(st); ok {
		t.Error("another stamp is known")
	}
	if dialect, manifest, ok := again.module(digest); !ok || dialect != "native" || string(manifest) != `{"tools":[]}` {
		t.Errorf("%q %s %v", dialect, manifest, ok)
	}
	for _, path := range []string{again.digestsFile(), again.moduleFile(digest)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestCache_IgnoresWhatIsWrong(t *testing.T) {
	st, digest := stamp{size: 1}, digestOf(nil)
	key := st.key()
	for name, content := range map[string]string{
		"no json": "{", "another version": `{"version":99,"digests":{"` + key + `":"` + digest + `"}}`,
		"no digest": `{"version":1,"digests":{"` + key + `":"../../x"}}`, "upper case": `{"version":1,"digests":{"` + key + `":"` + strings.ToUpper(digest) + `"}}`,
		"an array": `[]`, "too large": `{"version":1,"x":"` + strings.Repeat("x", maxCacheFile) + `"}`,
	} {
		dir := t.TempDir()
		writeFile(t, dir, "digests.json", []byte(content))
		c := openCache(dir, discard())
		if got, ok := c.digest(st); ok {
			t.Errorf("%s: %q", name, got)
		}
		c.putDigest(st, digest)
		c.flush()
		if got, ok := openCache(dir, discard()).digest(st); !ok || got != digest {
			t.Errorf("%s: not made anew", name)
		}
	}
	for name, content := range map[string]string{
		"no json": "{", "another digest": `{"version":1,"digest":"sha256:00","dialect":"native","manifest":{}}`,
		"another version": `{"version":2,"digest":"` + digest + `","dialect":"native","manifest":{}}`,
		"no manifest":     `{"version":1,"digest":"` + digest + `","dialect":"native"}`,
	} {
		dir := t.TempDir()
		c := openCache(dir, discard())
		if err := writeAtomic(c.moduleFile(digest), []byte(content)); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := c.module(digest); ok {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestCache_IsBounded(t *testing.T) {
	dir := t.TempDir()
	c := openCache(dir, discard())
	for i := range maxCached + 100 {
		c.putDigest(stamp{size: int64(i)}, digestOf(nil))
	}
	c.flush()
	if info, err := os.Stat(c.digestsFile()); err != nil || info.Size() > maxCacheFile {
		t.Fatalf("%v %v", info, err)
	}
	again := openCache(dir, discard())
	again.putDigest(stamp{size: 1 << 40}, digestOf(nil))
	again.flush()
	if last := openCache(dir, discard()); len(last.digests) > maxCached || last.digests[stamp{size: 1 << 40}.key()] == "" {
		t.Errorf("%d entries", len(last.digests))
	}
}

// The cache may be wrong: the digest is checked before anything is compiled, and the file loaded
// again.
func TestCache_WrongDigestIsFoundAtTheFirstCall(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	o.State = t.TempDir()
	lie := guest{manifest: tools("say", "gone"), answer: says("lie")}.wasm()
	path := guest{manifest: tools("say"), answer: says("truth")}.write(t, dir, "p.wasm")
	old(t, path)
	st, err := stampOf(path)
	if err != nil {
		t.Fatal(err)
	}
	c := openCache(o.State, discard())
	c.putDigest(st, digestOf(lie))
	c.putModule(digestOf(lie), "native", []byte(tools("say", "gone")))
	c.flush()
	r := open(t, o)
	if !has(r, "p-gone") {
		t.Fatal("the cache was not asked")
	}
	gone, _ := r.Snapshot().Tool("p-gone")
	if got, err := callText(t, r, "p-say", Call{}); err != nil || got != "truth" {
		t.Errorf("%q %v", got, err)
	}
	if has(r, "p-gone") || status(r, "p").Digest == digestOf(lie) {
		t.Errorf("%+v", status(r, "p"))
	}
	if _, err := gone.Call(t.Context(), Call{}); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

// A file that is away before its first call: the call says so and nothing else breaks.
func TestModule_FileIsAway(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	tool, _ := r.Snapshot().Tool("p-say")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var end *spruntime.EndError
	if _, err := tool.Call(t.Context(), Call{}); !errors.As(err, &end) || end.Kind != spruntime.KindUnavailable {
		t.Errorf("%v", err)
	}
	eventually(t, "taken out", func() bool { return !has(r, "p-say") })
}

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	packed := guest{manifest: `{"name":"label","version":"1","wants":[{"net":"GET https://x/**"}],"tools":[{"name":"say","inputSchema":{"type":"object"}},{"name":"bad"}]}`, answer: says("1")}
	path := packed.write(t, dir, "my-plugin.wasm")
	d, err := Inspect(t.Context(), path, o.Dialects, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "my_plugin" || d.Dialect != "native" || !d.Packed || d.Digest != digestOf(packed.wasm()) || d.Size != len(packed.wasm()) {
		t.Errorf("%+v", d)
	}
	if len(d.Manifest.Tools) != 1 || len(d.Manifest.Wants) != 1 || len(d.Manifest.Problems) != 1 || d.Imports[0] != "sallyport.write" {
		t.Errorf("%+v", d.Manifest)
	}
	plain := guest{answer: `{"result":` + tools("say") + `}`}.write(t, dir, "plain.wasm")
	if _, err := Inspect(t.Context(), plain, o.Dialects, nil); !errors.Is(err, ErrNotPacked) {
		t.Errorf("%v", err)
	}
	r := open(t, Options{})
	d, err = Inspect(t.Context(), plain, o.Dialects, NewDescriber(o.Engine, r.host))
	if err != nil || d.Packed || len(d.Manifest.Tools) != 1 || string(d.Raw) != tools("say") {
		t.Errorf("%+v %v", d, err)
	}
	for name, content := range map[string]string{"text": "hello", "empty": ""} {
		if _, err := Inspect(t.Context(), writeFile(t, dir, name+".wasm", []byte(content)), o.Dialects, nil); err == nil || !strings.Contains(err.Error(), name+".wasm") {
			t.Errorf("%v", err)
		}
	}
	if _, err := Inspect(t.Context(), filepath.Join(dir, "none.wasm"), o.Dialects, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestCache_ManifestsAreBounded(t *testing.T) {
	c := openCache(t.TempDir(), discard())
	newest := digestOf([]byte("newest"))
	if err := os.Mkdir(filepath.Join(c.dir, "manifests"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxCached {
		path := filepath.Join(c.dir, "manifests", fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			old(t, path)
		}
	}
	c.putModule(newest, "native", []byte("{}"))
	c.shrinkModules()
	left, err := os.ReadDir(filepath.Join(c.dir, "manifests"))
	if err != nil || len(left) != maxCached/2 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	if _, _, ok := c.module(newest); !ok {
		t.Error("the newest is gone")
	}
	if _, err := os.Stat(filepath.Join(c.dir, "manifests", "0")); err == nil {
		t.Error("the oldest is still there")
	}
}
