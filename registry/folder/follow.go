package folder

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// FollowOptions configures Follow.
type FollowOptions struct {
	Files []string // any number, in any folder; they need not exist
	// Look examines the files. It returns true to be called again after Soon, without a change.
	Look   func() (again bool)
	Soon   time.Duration // the least time between two looks
	Logger *slog.Logger
}

// followTime is the interval of looks at single files with notifications. The system does not tell of a folder above a file
// that was renamed, of writes through a mapping, nor of a network file system.
const followTime = 2 * time.Second

// Follow looks at single files, such as settings, whenever they may have changed, until ctx is done. Files that do not
// change cost nothing but a look every 2 seconds for all of them. A file that the system cannot watch, as one in a missing
// folder, is looked at each second.
func Follow(ctx context.Context, o FollowOptions) {
	f := &follower{FollowOptions: o, events: events{log: o.Logger, open: fsnotify.NewWatcher}, after: time.After}
	f.run(ctx)
}

// follower is the state of Follow.
type follower struct {
	FollowOptions
	events  events
	after   func(time.Duration) <-chan time.Time
	watched []string // by the system
}

func (f *follower) run(ctx context.Context) {
	changes, errs := f.events.start()
	defer f.events.close()
	for {
		told := f.watch() // before the look, which sees all earlier changes
		again := f.Look()
		select {
		case <-ctx.Done():
			return
		case <-f.after(f.Soon):
		}
		if again {
			continue
		}
		wait := followTime
		if !told {
			wait = pollTime - f.Soon
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-errs:
		case <-f.after(wait):
		}
	}
}

// watch makes the system tell of changes of each file, or of its folder until it exists. It reports whether the system
// does. A file that was replaced is watched again.
func (f *follower) watch() (told bool) {
	if f.events.system == nil {
		return false
	}
	var watched []string
	told = true
	for _, path := range f.Files {
		if overLink(path) {
			told = false // the system tells nothing of a link that gets another target
		}
		err := f.events.system.Add(path)
		if errors.Is(err, fs.ErrNotExist) {
			path = filepath.Dir(path)
			err = f.events.system.Add(path)
		}
		if err != nil {
			told = false
			continue
		}
		watched = append(watched, path)
	}
	for _, path := range f.watched {
		if !slices.Contains(watched, path) {
			_ = f.events.system.Remove(path) // it may have gone with its file
		}
	}
	f.watched = watched
	return told
}

// overLink reports whether a path is a symbolic link, or leads over one.
func overLink(path string) bool {
	path, err := filepath.Abs(path)
	for ; err == nil; path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true // unknown
}
