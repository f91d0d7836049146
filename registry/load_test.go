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

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// old sets a file's times to an hour ago, so that it counts as settled.
func old(t testing.TB, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// A wrong cache entry is detected: the digest is checked before compilation, and the file loaded again.
func TestCache_wrongDigestIsFoundAtTheFirstCall(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	o.State = t.TempDir()
	lie := guest{manifest: tools("say", "gone"), answer: says("lie")}.wasm()
	path := guest{manifest: tools("say"), answer: says("truth")}.write(t, dir, "p.wasm")
	old(t, path)
	st, err := fileid.Of(path)
	if err != nil {
		t.Fatal(err)
	}
	c := cache.Open(o.State, loggerOr(nil))
	c.PutDigest(st, fileid.Digest(lie))
	c.PutModule(fileid.Digest(lie), cache.Module{Dialect: "native", Manifest: []byte(tools("say", "gone"))})
	c.Flush()
	r := open(t, o)
	if !has(r, "p-gone") {
		t.Fatalf("got %+v, want p-gone of the cache", r.Plugins())
	}
	gone, _ := r.Snapshot().Tool("p-gone")
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "truth" {
		t.Errorf("got %q %v, want \"truth\"", got, err)
	}
	if has(r, "p-gone") || status(r, "p").Digest == fileid.Digest(lie) {
		t.Errorf("got status %+v, want no p-gone and another digest", status(r, "p"))
	}
	if _, err := gone.Call(t.Context(), catalog.Call{}); !errors.Is(err, catalog.ErrGone) {
		t.Errorf("got %v, want catalog.ErrGone", err)
	}
}

// A file removed before its first call fails that call only.
func TestModule_missingFileFailsItsCallOnly(t *testing.T) {
	dir := t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	tool, _ := r.Snapshot().Tool("p-say")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var end *runtime.EndError
	if _, err := tool.Call(t.Context(), catalog.Call{}); !errors.As(err, &end) || end.Kind != runtime.KindUnavailable {
		t.Errorf("got %v, want an EndError, end.Kind = runtime.KindUnavailable", err)
	}
	eventually(t, "taken out", func() bool { return !has(r, "p-say") })
}

// A file that is still being written is not reported as missing.
func TestStatus_writtenFileIsLoading(t *testing.T) {
	dir := t.TempDir()
	old(t, honest().write(t, dir, "a.wasm"))
	var log strings.Builder
	o := options(t, dir)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Plugins = map[string]Config{"a": {}, "b": {}}
	honest().write(t, dir, "b.wasm")
	r := open(t, o)
	wantSays(t, r, "a-say", "honest")
	wantSays(t, r, "b-say", "honest")
	closeNow(t, r)
	if strings.Contains(log.String(), "there is no file") {
		t.Errorf("got log %s, want no file that is missed", log.String())
	}
}

// Plugin/describe has its own deadline, which the limits of calls do not change, and the
// documentation states it.
func TestDescribe_hasItsOwnDeadline(t *testing.T) {
	dir := t.TempDir()
	guest{answer: `{"result":` + tools("say") + `}`}.write(t, dir, "p.wasm")
	o := options(t, dir)
	o.Defaults = runtime.Limits{Deadline: time.Nanosecond, Memory: 64 << 10, Output: 1}
	r := open(t, o)
	tool, ok := r.Snapshot().Tool("p-say")
	if !ok {
		t.Fatalf("got %+v, want it published", r.Plugins())
	}
	if _, err := tool.Call(t.Context(), catalog.Call{ID: "1"}); err == nil {
		t.Error("call: got no error, want one for want of time")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "plugins.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("runs with no grants, %d MiB of memory and %.0f s,", plugin.DescribeMemory>>20, plugin.DescribeTime.Seconds())
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/plugins.md does not say %q", want)
	}
}
