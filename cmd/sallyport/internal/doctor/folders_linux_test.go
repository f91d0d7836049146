package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A state folder that takes no files is a problem, since no host starts on it, and the examination of one that does
// leaves nothing there.
func TestExamine_writesToTheStateFolder(t *testing.T) {
	i := installed(t, "")
	state := filepath.Join(i.home, "state")
	for _, full := range []bool{false, true} {
		if full { // not even root can write to this folder
			remove(t, state)
			if err := os.Symlink("/proc/self/ns", state); err != nil {
				t.Fatal(err)
			}
		}
		found := false
		for _, f := range Examine(t.Context(), i.Subject).Findings {
			found = found || f.Level == Problem && f.Topic == "state folder" && strings.Contains(f.Text, "nothing can be written to "+state) && f.Next != ""
		}
		if found != full {
			t.Errorf("a folder that takes no files: %v, got a problem: %v", full, found)
		}
	}
	i = installed(t, "")
	state = filepath.Join(i.home, "state")
	changed := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(state, changed, changed); err != nil {
		t.Fatal(err)
	}
	Examine(t.Context(), i.Subject)
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("got files %v, %v, want none left behind", left, err)
	}
	if info, err := os.Stat(state); err != nil || !info.ModTime().Equal(changed) {
		t.Errorf("got %v, want the time of the folder as it was", err)
	}
}
