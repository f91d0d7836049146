package settings

import (
	"path/filepath"
	"strings"
	"testing"
)

// The host's files are in the state folder, with one lock file for all plugin folders.
func TestPaths_areInTheStateFolder(t *testing.T) {
	state := t.TempDir()
	load := func(text string) *Settings {
		t.Helper()
		s, err := Load(Options{File: write(t, "state: "+state+"\n"+text)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load("dir: /srv/my plugins\n")
	for _, path := range []string{
		s.State().Log(), s.State().Audit(), s.State().Compiled(), s.State().Approved(), s.State().Keys(), s.State().LocalToken(), s.TokensFile(), s.LockFile(),
	} {
		if !strings.HasPrefix(path, state+string(filepath.Separator)) {
			t.Errorf("%s is not in %s", path, state)
		}
	}
	if other := load("dir: /opt/my plugins\n"); other.LockFile() != s.LockFile() {
		t.Error("two folders have two lock files")
	}
	named := load("lock: /x/sallyport.lock\nhttp: {tokens: /x/tokens}\n")
	if named.LockFile() != "/x/sallyport.lock" || named.TokensFile() != "/x/tokens" {
		t.Errorf("got %s, %s, want %q, %q", named.LockFile(), named.TokensFile(), "/x/sallyport.lock", "/x/tokens")
	}
}
