package userfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// Changes at the same time take turns: none is lost, and one that comes too late says so.
func TestChange_losesNoneOfSeveral(t *testing.T) {
	const writers, changes = 4, 50
	file := filepath.Join(t.TempDir(), "a.yaml")
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range changes {
				err := ErrMeanwhile
				for errors.Is(err, ErrMeanwhile) {
					_, err = Change(file, appended, Options{Fleeting: true})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(file)
	if got := bytes.Count(text, []byte("\n")); err != nil || got != writers*changes {
		t.Errorf("got %d changes, %v, want %d", got, err, writers*changes)
	}
}

// The file that is locked in place of a folder is one for each folder, however that is named.
func TestStandIn_isOneForAFolder(t *testing.T) {
	temporary, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temporary)
	}
	t.Chdir(dir)
	for _, c := range []struct {
		dir  string
		free bool
	}{{dir, true}, {dir + string(filepath.Separator), false}, {".", false}, {temporary, true}} {
		f, err := standIn(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if free, err := filelock.Try(f); err != nil || free != c.free {
			t.Errorf("%s: got free %v, %v, want %v", c.dir, free, err, c.free)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v in the folder, %v, want nothing", left, err)
	}
}
