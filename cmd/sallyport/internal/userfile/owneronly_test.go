package userfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMakeFolder_isOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits say nothing here")
	}
	dir := filepath.Join(t.TempDir(), "state")
	for range 2 { // created, then existing
		if err := MakeFolder(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(dir); err == nil || !strings.Contains(err.Error(), "others can write to it (mode 0777)") {
		t.Errorf("got %v, want an error, %q in it", err, "others can write to it (mode 0777)")
	}
}
