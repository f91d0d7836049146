//go:build unix

package userfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
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
