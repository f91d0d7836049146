package hostfuncs_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// lander is a call that has written a file and a key.
func lander(t *testing.T, k *keeper, dir string) *hostfuncs.Gate {
	t.Helper()
	g := k.call("p")
	files := g.Files()
	for _, name := range []string{"f", "g"} {
		if e := writeFile(files, filepath.Join(dir, name), "x"); e != wasi.ESUCCESS {
			t.Fatalf("got errno %v, want success", e)
		}
	}
	ask(t, g, "kv/set", `{"key":"k","value":1}`)
	return g
}

// TestLand_isWholeWhenClientDisconnects checks that files and keys are committed together or not at all whenever the
// client disconnects, and that the result reports the outcome correctly.
func TestLand_isWholeWhenClientDisconnects(t *testing.T) {
	steps := 0
	for gone := 0; gone == 0 || gone <= steps; gone++ {
		dir, steps := t.TempDir(), &steps
		k := newKeeper(t, "kv: 10B", "fs: write "+dir+"/**")
		g := lander(t, k, dir)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if *steps = 0; gone == 0 {
			cancel()
		}
		err := g.Land(commit.Watch(ctx, func(string) {
			if *steps++; *steps == gone {
				cancel()
			}
		}))
		if gone == 0 {
			wantEnd(t, err, runtime.KindCancelled, "the call was cancelled before the commit of its writes")
			*steps = 1
		}
		_, missing := os.Stat(filepath.Join(dir, "f"))
		if key := ask(t, k.call("p"), "kv/get", `{"key":"k"}`) != `{"value":null,"version":0}`; key == (missing != nil) || key != (err == nil) || gone > 0 && !key {
			t.Errorf("gone after step %d: got %v, key kept %v, file missing %v, want both or neither", gone, err, key, missing)
		}
	}
	if steps < 6 {
		t.Errorf("got %d steps, want 6 or more", steps)
	}
}

// TestLand_waitingForLocksLeavesStoreFree checks that a call that waits for file locks does not block the store.
func TestLand_waitingForLocksLeavesStoreFree(t *testing.T) {
	dir := t.TempDir()
	kept := store.New(store.Options{Dir: t.TempDir()})
	h := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: t.TempDir()})
	t.Cleanup(func() { h.Close(); kept.Close() })
	k := &keeper{t, h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "kv: 10B", "fs: write "+dir+"/**")})}
	first, second := lander(t, k, dir), lander(t, k, dir)
	var waited, wrote error
	err := first.Land(commit.Watch(t.Context(), func(step string) {
		if step != "prepared" {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := make(chan error)
		go func() { waits <- second.Land(ctx) }() // for the files that first has locked
		short, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_, wrote = kept.Add(short, store.Memory, store.Record{ID: "x"})
		cancel()
		waited = <-waits
	}))
	if err != nil || wrote != nil {
		t.Errorf("got %v landed, %v written meanwhile, want success of both", err, wrote)
	}
	wantEnd(t, waited, runtime.KindCancelled, "the call was cancelled before the commit of its writes")
}
