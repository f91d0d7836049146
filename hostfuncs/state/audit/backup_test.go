package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// Copies that are made while chains begin, grow, roll over and end, and while retention removes others, are whole.
func TestBackup_isWholeWhileProcessesWrite(t *testing.T) {
	dir, _ := written(t)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for chain := 0; ; chain++ {
				l := audit.New(dir, audit.Options{Keep: audit.Keep{Bytes: 1 << 20}})
				for i := range 200 * chain {
					if _, err := l.Append(fmt.Appendf(nil, `"call":"c%d","text":"%0500d"`, i, i)); err != nil {
						t.Error(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 4 {
		to := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := audit.Backup(dir, to); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, to); len(r.Problems) > 0 || r.Lines < 20 {
			t.Errorf("copy %d: got %+v, want whole chains", i, r)
		}
	}
	close(stop)
	writers.Wait()
}

// A copy does not hide a fault of the original.
func TestBackup_keepsFaults(t *testing.T) {
	for name, damage := range map[string]func(chain string) error{
		"cut": func(chain string) error {
			raw, err := os.ReadFile(chain)
			if err != nil {
				return err
			}
			return os.WriteFile(chain, raw[:bytes.LastIndexByte(raw[:len(raw)/2], '\n')+1], 0o600)
		},
		"chain removed": os.Remove,
		"head removed":  func(chain string) error { return os.Remove(headOf(chain)) },
	} {
		dir, _ := written(t)
		if err := damage(firstChain(t, dir)); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "copy")
		if err := audit.Backup(dir, to); err != nil {
			t.Fatal(err)
		}
		if got, want := verify(t, to), verify(t, dir); len(want.Problems) == 0 || fmt.Sprint(got.Problems) != fmt.Sprint(want.Problems) {
			t.Errorf("%s: got %v, want %v", name, got.Problems, want.Problems)
		}
	}
	to := t.TempDir() + "/copy"
	if err := audit.Backup(t.TempDir()+"/none", to); err != nil {
		t.Errorf("no log: got %v, want nothing to copy", err)
	}
}

// A process has written the last line of its chain and not its head yet, or an older one, when it is copied.
func TestBackup_isWholeBeforeTheHead(t *testing.T) {
	dir, _ := written(t)
	chain := firstChain(t, dir)
	lock, err := os.Create(strings.TrimSuffix(chain, ".log") + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if free, err := filelock.Try(lock); !free || err != nil {
		t.Fatal(free, err)
	}
	if err := os.Remove(headOf(chain)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := audit.Backup(dir, to); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, to); len(r.Problems) > 0 || r.Lines == 0 {
		t.Errorf("got %+v, want a whole chain", r)
	}
}

// headOf returns the file with the head of a chain.
func headOf(chain string) string { return strings.TrimSuffix(chain, ".log") + ".head" }
