package statekeys

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
)

func TestOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state-keys")
	if err := renew(file); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); private.OpenToOthers(info.Mode()) {
		t.Errorf("mode %v", info.Mode())
	}
	if err := renew(file); err != nil { // which leaves it
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(file); !bytes.Equal(again, first) {
		t.Error("a young key was replaced")
	}
	before, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	old, month := before.Seal([]byte("text")), time.Now().Add(-ownAge)
	if err := os.Chtimes(file, month, month); err != nil {
		t.Fatal(err)
	}
	if err := renew(file); err != nil {
		t.Fatal(err)
	}
	keys, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Open(old); err != nil {
		t.Errorf("the old key opens nothing any more: %v", err)
	}
	left, _ := os.ReadDir(filepath.Dir(file))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRead(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(sealed.RandomKey())
	for text, want := range map[string]string{
		"# the new one\n" + good + "\n\n" + good: "",
		"":                                       "0 keys: give 1 to 16",
		"short":                                  "line 1 is not base64",
		"c2hvcnQ=":                               "key 1 has 5 bytes: a key has 32 at least",
		strings.Repeat("#", maxFile+1):           "is longer than 16384 bytes",
	} {
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := read(file)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(file); slices.Contains([]string{"linux", "darwin"}, goruntime.GOOS) && err == nil {
		t.Error("a file that others can read is taken")
	}
}
