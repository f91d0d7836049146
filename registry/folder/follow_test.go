package folder

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// followed is a Follow whose slow timer fires when the test says so, and the others at once.
type followed struct {
	seen   chan string // by each look: the contents of the files
	slow   chan time.Time
	untold atomic.Bool // there was a timer for a file that the system cannot watch
}

// follow follows files in a goroutine that ends with the test. The first looks ask for another one.
func follow(t *testing.T, open func() (*fsnotify.Watcher, error), again int, files ...string) *followed {
	t.Helper()
	d := &followed{seen: make(chan string), slow: make(chan time.Time)}
	ctx, cancel := context.WithCancel(t.Context())
	ended, soon := make(chan struct{}), make(chan time.Time)
	close(soon)
	looked := false
	f := &follower{
		FollowOptions: FollowOptions{Files: files, Soon: time.Millisecond, Logger: slog.New(slog.DiscardHandler), Look: func() bool {
			var all []string
			for _, file := range files {
				text, _ := os.ReadFile(file)
				all = append(all, string(text))
			}
			select {
			case d.seen <- strings.Join(all, "|"):
			case <-ctx.Done():
			}
			looked = true
			again--
			return again >= 0
		}},
		after: func(wait time.Duration) <-chan time.Time {
			switch {
			case wait == time.Millisecond && looked:
				looked = false
				return soon
			case wait == pollTime-time.Millisecond:
				d.untold.Store(true)
				return soon
			case wait != followTime:
				t.Errorf("got a timer of %v, want one of %v, since nothing changed", wait, followTime)
			}
			return d.slow
		},
	}
	f.events = events{log: f.Logger, open: open}
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return d
}

// sees waits for a look at these contents.
func (d *followed) sees(want string) {
	for got := range d.seen {
		if got == want {
			return
		}
	}
}

// fire fires the slow timer.
func (d *followed) fire() {
	for {
		select {
		case d.slow <- time.Time{}:
			return
		case <-d.seen: // the system tells of one change several times
		}
	}
}

// The system tells nothing of a link that gets another target, so looks at a file behind one go on.
func TestFollow_looksBehindLinks(t *testing.T) {
	dir := t.TempDir()
	for _, release := range []string{"1", "2"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, release), 0o700), os.WriteFile(filepath.Join(dir, release, "f"), []byte(release), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	current := filepath.Join(dir, "current")
	if err := os.Symlink("1", current); err != nil {
		t.Fatal(err)
	}
	d := follow(t, fsnotify.NewWatcher, 0, filepath.Join(current, "f"))
	d.sees("1")
	if err := errors.Join(os.Symlink("2", current+".new"), os.Rename(current+".new", current)); err != nil {
		t.Fatal(err)
	}
	d.sees("2")
}

// A look follows each change of a file: in place, by a replacement, as a new file. Nothing else leads to one but the slow
// timer, and a look that asks for another.
func TestFollow_looksWhenAFileChangesAndNotElse(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there"), filepath.Join(dir, "missing")
	write(t, there, "1")
	d := follow(t, fsnotify.NewWatcher, 1, there, missing)
	d.sees("1|")
	d.sees("1|")
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { overwrite(t, there, "in place") }, "in place|"},
		{func() { write(t, there, "a replacement") }, "a replacement|"},
		{func() { write(t, there, "another one") }, "another one|"},
		{func() { overwrite(t, there, "again") }, "again|"},
		{func() { overwrite(t, missing, "new") }, "again|new"},
		{func() { overwrite(t, missing, "in place") }, "again|in place"},
		{func() { remove(t, there) }, "|in place"},
		{func() { write(t, there, "back") }, "back|in place"},
	} {
		step.do()
		d.sees(step.want)
	}
	d.fire()
	d.sees("back|in place")
	if d.untold.Load() {
		t.Error("got a timer for a file that the system cannot watch, want none")
	}
}

// The system tells nothing of a renamed folder, so the slow timer finds the file that took the place of another; its later
// changes are told.
func TestFollow_looksIntoReplacedFolders(t *testing.T) {
	dir := t.TempDir()
	there, next := filepath.Join(dir, "there"), filepath.Join(dir, "next")
	if err := errors.Join(os.Mkdir(there, 0o700), os.Mkdir(next, 0o700)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(there, "f")
	write(t, file, "1")
	write(t, filepath.Join(next, "f"), "2")
	d := follow(t, fsnotify.NewWatcher, 0, file)
	d.sees("1")
	if err := errors.Join(os.Rename(there, there+".old"), os.Rename(next, there)); err != nil {
		t.Fatal(err)
	}
	d.fire()
	d.sees("2")
	overwrite(t, file, "3")
	d.sees("3")
}

// A file of which the system cannot tell is looked at again and again.
func TestFollow_looksAgainWithoutNotifications(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "1")
	none := func() (*fsnotify.Watcher, error) { return nil, os.ErrInvalid }
	for _, d := range []*followed{follow(t, none, 0, file), follow(t, fsnotify.NewWatcher, 0, file, filepath.Join(t.TempDir(), "none", "file"))} {
		for range 3 {
			<-d.seen
		}
	}
}

func overwrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
