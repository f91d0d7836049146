package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// clock is the time of a log and of its files.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// chainOf writes a chain of n lines, ten per day.
func chainOf(t *testing.T, dir string, c *clock, n int) {
	t.Helper()
	l := audit.New(dir, audit.Options{Now: c.Now})
	for i := range n {
		if i > 0 && i%10 == 0 {
			sync1(t, l)
			c.add(24 * time.Hour)
		}
		if _, err := l.Append(fmt.Appendf(nil, `"call":"c%d"`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func sync1(t *testing.T, l *audit.Log) {
	t.Helper()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
}

// aged sets the modification times of the files to those of their last lines.
func aged(t *testing.T, dir string) {
	t.Helper()
	for _, file := range logs(t, dir) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		i := strings.LastIndex(string(raw), `"at":"`)
		at, err := time.Parse("2006-01-02T15:04:05.000Z", string(raw[i+6:i+30]))
		if err == nil {
			err = os.Chtimes(file, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// whole checks that a folder verifies, with these numbers.
func whole(t *testing.T, dir string, chains int, lines uint64) {
	t.Helper()
	if r := verify(t, dir); len(r.Problems) != 0 || r.Chains != chains || r.Lines != lines {
		t.Errorf("%+v, want %d chains of %d lines", r, chains, lines)
	}
}

// Retention removes the oldest files, and the rest verifies: a chain may begin in the middle or be missing.
func TestPrune_removesOldestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		keep   audit.Keep
		chains int
		lines  uint64
	}{
		"nothing is bounded":   {audit.Keep{}, 2, 104},
		"all is within bounds": {audit.Keep{Bytes: 1 << 20, Age: 90 * 24 * time.Hour}, 2, 104},
		"the last four days":   {audit.Keep{Age: 4*24*time.Hour - time.Minute}, 1, 31},
		"one file":             {audit.Keep{Bytes: 1500}, 1, 11},
		"everything":           {audit.Keep{Bytes: 1}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			at := &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
			for range 2 {
				chainOf(t, dir, at, 50)
				at.add(24 * time.Hour)
			}
			aged(t, dir)
			if err := audit.Prune(dir, c.keep, at.Now()); err != nil {
				t.Fatal(err)
			}
			whole(t, dir, c.chains, c.lines)
		})
	}
}

// Retention keeps a file that a process writes, and the next line of its chain verifies.
func TestPrune_keepsWhatIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := audit.New(dir, audit.Options{})
	add := func() {
		if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
			t.Fatal(err)
		}
		sync1(t, l)
	}
	add()
	if err := audit.Prune(dir, audit.Keep{Bytes: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	add()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 1, 4)
}

// Every change of a folder other than retention is found, also after retention.
func TestPrune_hidesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string, files []string) error
		want   string
	}{
		"one more file of the same chain": {func(_ string, files []string) error { return os.Remove(files[0]) }, "lines are missing"},
		"all files that are left":         {func(_ string, files []string) error { return errors.Join(os.Remove(files[0]), os.Remove(files[1])) }, "the chain is gone"},
		"the record is another": {func(dir string, _ []string) error {
			return change(filepath.Join(dir, "cut"), "31/", "30/")
		}, "the record of the lines that retention removed was changed"},
		"the record is gone":     {func(dir string, _ []string) error { return os.Remove(filepath.Join(dir, "cut")) }, "lines are missing"},
		"a line that was left":   {func(_ string, files []string) error { return change(files[1], "c45", "c46") }, "it was changed"},
		"the first that is left": {func(_ string, files []string) error { return change(files[0], "c35", "c36") }, "it was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			at := &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
			chainOf(t, dir, at, 50)
			aged(t, dir)
			if err := audit.Prune(dir, audit.Keep{Age: 25 * time.Hour}, at.Now()); err != nil {
				t.Fatal(err)
			}
			if r := verify(t, dir); len(r.Problems) > 0 {
				t.Fatalf("got %+v, want no problems", r)
			}
			if err := c.change(dir, logs(t, dir)); err != nil {
				t.Fatal(err)
			}
			r := verify(t, dir)
			if !strings.Contains(fmt.Sprint(r.Problems), c.want) {
				t.Errorf("want %q in %v", c.want, r.Problems)
			}
		})
	}
}

func change(path, from, to string) error {
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), from) {
		return errors.Join(err, fmt.Errorf("no %q in %s", from, raw))
	}
	return os.WriteFile(path, []byte(strings.Replace(string(raw), from, to, 1)), 0o600)
}

// A process that is killed between the record and the removal leaves a folder that verifies.
func TestPrune_killedBeforeTheRemoval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	at := &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	chainOf(t, dir, at, 50)
	aged(t, dir)
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := audit.Prune(dir, audit.Keep{Bytes: 1}, at.Now()); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 0, 0)
	if err := errors.Join(os.Remove(filepath.Join(backup, "key")), os.CopyFS(dir, os.DirFS(backup))); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 1, 52)
	if err := audit.Prune(dir, audit.Keep{Bytes: 1}, at.Now()); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 0, 0)
}

// Several hosts apply retention at once, while others write.
func TestPrune_manyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 20 {
				l := audit.New(dir, audit.Options{})
				for range 20 {
					if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
						t.Error(err)
					}
				}
				if err := errors.Join(audit.Prune(dir, audit.Keep{Bytes: 4000}, time.Now()), l.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if r := verify(t, dir); len(r.Problems) != 0 {
		t.Errorf("got %+v, want no problems", r)
	}
}

// The first line of a chain is bounded, regardless of the number of chains, and a removed chain is missed.
func TestLog_seesTheLatest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	at := &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	for range 60 {
		at.add(time.Second) // orders the file names by chain
		l := audit.New(dir, audit.Options{Now: at.Now})
		if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := logs(t, dir)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 2048 {
			t.Errorf("%s: got %d bytes, %v, want at most 2048", file, info.Size(), err)
		}
	}
	for _, file := range files[20:25] {
		if err := errors.Join(os.Remove(file), os.Remove(strings.TrimSuffix(file, ".log")+".head")); err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, dir); len(r.Problems) != 5 {
		t.Errorf("five chains removed: got problems %v, want 5", r.Problems)
	}
}

// Concurrent calls of Sync and Close return no error, and the head is that of the last line.
func TestLog_syncAndCloseAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := audit.New(dir, audit.Options{})
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 50 {
				if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
					t.Error(err)
				}
				if err := l.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	for range 8 {
		work.Go(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	whole(t, dir, 1, 402)
}
