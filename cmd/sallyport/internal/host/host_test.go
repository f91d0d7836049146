package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// configured are settings of a file with these lines, a state folder and an empty plugin folder.
func configured(t *testing.T, text string) *settings.Settings {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sallyport.yaml")
	if err := os.WriteFile(file, []byte("state: "+filepath.Join(dir, "state")+"\ndir: "+filepath.Join(dir, "plugins")+"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, s *settings.Settings) *Host {
	t.Helper()
	l, err := OpenLock(s, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(t.Context(), Options{Settings: s, Logger: slog.New(slog.DiscardHandler), Lock: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// A plugin that the settings name has a status of its own, and a file that changes is followed.
func TestHost_Follows(t *testing.T) {
	s := configured(t, "plugins: {first: {disabled: true}}\n")
	h := open(t, s)
	defer h.Follow(t.Context())()
	has := func(name string) bool {
		for _, p := range h.Registry.Plugins() {
			if p.Name == name {
				return true
			}
		}
		return false
	}
	if !has("first") || has("second") {
		t.Fatalf("%+v", h.Registry.Plugins())
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File, []byte(strings.Replace(string(text), "first", "second", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(15 * time.Second); !has("second") || has("first"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is not followed: %+v", h.Registry.Plugins())
		}
	}
}

// What belongs to Sallyport is out of reach, whatever is granted, and the gates of a host that serves nothing say so.
func TestGates_ProtectOurOwn(t *testing.T) {
	s := configured(t, "plugins: {p: {grants: [{fs: write /**}]}}\n")
	gates := Gates(s)
	defer gates.Close()
	policy := gates.Plugin(hostfuncs.Plugin{Name: "p", Grants: s.Plugins[0].Grants})
	for path, want := range map[string]bool{
		s.File: false, s.LockFile(): false, s.Text("state"): false, filepath.Join(s.Text("dir"), "new.wasm"): false,
		filepath.Join(filepath.Dir(s.File), "free.txt"): true,
	} {
		x, err := policy.Explain(hostfuncs.Call{Principal: "cli"}, "write "+path)
		if err != nil || x.Allowed != want {
			t.Errorf("write %s: %+v, %v", path, x, err)
		}
	}
}
