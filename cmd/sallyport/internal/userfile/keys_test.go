package userfile

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

func TestOwnKeys_rotateMonthly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state-keys")
	before := own(t, path)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); goruntime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("got mode %v, want none for others", info.Mode())
	}
	own(t, path) // unchanged
	if again, _ := os.ReadFile(path); !bytes.Equal(again, first) {
		t.Errorf("a young key: got %q, want %q", again, first)
	}
	old := before.Keys().Seal([]byte("text"))
	age(t, path)
	if _, err := own(t, path).Keys().Open(old); err != nil {
		t.Errorf("open with the old key: got %v, want success", err)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 2 || left[1].Name() != "state-keys.lock" {
		t.Errorf("got files %v, want the keys and their lock", left)
	}
}

// A file without a key, as a loss of power could leave it, gets one.
func TestOwnKeys_fillAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state-keys")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keys := own(t, path).Keys()
	if text, err := keys.Open(keys.Seal([]byte("text"))); err != nil || string(text) != "text" {
		t.Errorf("got %q, %v, want text", text, err)
	}
}

func own(t *testing.T, path string) *KeyFile {
	t.Helper()
	f, err := OwnKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// age makes a file thirty days old.
func age(t *testing.T, path string) {
	t.Helper()
	month := time.Now().Add(-ownAge)
	if err := os.Chtimes(path, month, month); err != nil {
		t.Fatal(err)
	}
}

// Hosts that start together on an old key all seal with keys that are in the file.
func TestOwnKeys_areSharedByHostsStartedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state-keys")
	own(t, path)
	age(t, path)
	files := make([]*KeyFile, 50)
	var work sync.WaitGroup
	for i := range files {
		work.Go(func() {
			var err error
			if files[i], err = OwnKeys(path); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	last := own(t, path)
	for i, f := range files {
		if _, err := last.Keys().Open(f.Keys().Seal([]byte("x"))); err != nil {
			t.Errorf("host %d: got %v, want its seal opened", i, err)
		}
	}
}

// A long-running host seals with the newest key, and unseals texts of hosts started later. It keeps its keys if the
// file becomes unreadable.
func TestKeyFile_followsChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state-keys")
	running := own(t, path)
	keys := running.Keys()
	for month := range 3 {
		age(t, path)
		started := own(t, path)
		if err := running.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Open(started.Keys().Seal([]byte("x"))); err != nil {
			t.Errorf("month %d: open of a new seal by the running host: got %v, want success", month, err)
		}
		if _, err := started.Keys().Open(keys.Seal([]byte("x"))); err != nil {
			t.Errorf("month %d: open of the running host's seal: got %v, want success", month, err)
		}
	}
	sealedBefore := keys.Seal([]byte("x"))
	if err := os.WriteFile(path, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := running.look(t.Context()); err == nil {
		t.Errorf("a broken file: got success, want an error")
	}
	if _, err := keys.Open(sealedBefore); err != nil {
		t.Errorf("open after a broken file: got %v, want success", err)
	}
}

func TestSharedKeys_refusesInvalidFiles(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(sealed.RandomKey())
	for text, want := range map[string]string{
		"# the new one\n" + good + "\n\n" + good: "",
		"":                                       "0 keys: give 1 to 16",
		"short":                                  "line 1 is not base64",
		"c2hvcnQ=":                               "key 1 has 5 bytes: a key has 32 at least",
		strings.Repeat("#", maxKeyFile+1):        "is longer than 16384 bytes",
	} {
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := SharedKeys(file)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := SharedKeys(file); slices.Contains([]string{"linux", "darwin"}, goruntime.GOOS) && err == nil {
		t.Errorf("a file that others can read: got success, want an error")
	}
}
