package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// configured returns settings of a file with this text, a state folder and an empty plugin folder.
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

// A plugin in the settings has a status, and changes of the file are applied.
func TestHost_appliesChangesOfTheFile(t *testing.T) {
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
		t.Fatalf("got plugins %+v, want first without second", h.Registry.Plugins())
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File, []byte(strings.Replace(string(text), "first", "second", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the configuration is followed", func() bool { return has("second") && !has("first") })
}

// eventually polls until ok returns true. It is for the watch of the configuration, whose end is no event.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const pause = 10 * time.Millisecond
	for range time.Minute / pause {
		if ok() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("%s: got none before the time limit, want it", what)
}

// Sallyport's own files are denied under any grant, and Gates explains that.
func TestGates_protectTheHostsOwnFiles(t *testing.T) {
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
			t.Errorf("write %s: got %+v, %v, want allowed %t", path, x, err, want)
		}
	}
}

// A configuration saved between Load and Follow is applied with its limits; settings that need a restart are logged.
func TestHost_appliesAChangeSinceTheReading(t *testing.T) {
	s := configured(t, "plugins: {p: {disabled: true}}\n")
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	changed := "limits: {"
	for _, k := range settings.Keys() {
		if name, ok := strings.CutPrefix(k.Name, "limits."); ok {
			value := "7"
			switch k.Kind {
			case settings.Bytes:
				value = "7MiB"
			case settings.Duration:
				value = "7s"
			}
			changed += name + ": " + value + ", "
		}
	}
	if err := os.WriteFile(s.File, append(text, changed+"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, s)
	var log lockedText
	h.log = slog.New(slog.NewTextHandler(&log, nil))
	defer h.Follow(t.Context())()
	eventually(t, "the change is in force", func() bool { return strings.Contains(log.String(), "is in force") })
	for _, k := range settings.Keys() {
		named := strings.Contains(log.String(), "key="+k.Name+"\n")
		if want := strings.HasPrefix(k.Name, "limits.") && !live(k.Name); named != want {
			t.Errorf("%s: got named %v, want %v", k.Name, named, want)
		}
	}
}

// Each live limit changes a plugin's limits.
func TestLimits_followEachLiveKey(t *testing.T) {
	s := configured(t, "")
	zero := Limits(s, settings.Limits{})
	for _, k := range settings.Keys() {
		key := k.Name
		if !k.Live || key == "workspace" {
			continue
		}
		t.Setenv("SALLYPORT_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_")), "7")
		if strings.HasSuffix(key, "deadline") || strings.HasSuffix(key, "task") || strings.HasSuffix(key, "wait") {
			t.Setenv("SALLYPORT_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_")), "7s")
		}
		if strings.HasSuffix(key, "memory") || strings.HasSuffix(key, "output") || strings.HasSuffix(key, "kept") || strings.HasSuffix(key, "loaded") {
			t.Setenv("SALLYPORT_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_")), "7MiB")
		}
		next, err := settings.Load(settings.Options{File: s.File})
		if err != nil {
			t.Fatalf("%s: got %v, want it loaded", key, err)
		}
		if got := Limits(next, settings.Limits{}); key != "limits.kept" && key != "limits.loaded" && got == zero {
			t.Errorf("%s: got limits unchanged, want a change", key)
		} else {
			zero = got
		}
	}
}

// lockedText is a text buffer for several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
