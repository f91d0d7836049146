package folder

import (
	"errors"
	"io/fs"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchSystem starts the file system notifications, if the system supports them.
func (f *Watcher) watchSystem() (<-chan fsnotify.Event, <-chan error) {
	system, err := f.newWatcher()
	if err != nil {
		f.Logger.Warn("folders are polled: the system cannot watch them", "error", err)
		return nil, nil
	}
	f.system = system
	return system.Events, system.Errors
}

func (f *Watcher) closeSystem() {
	if f.system != nil {
		f.system.Close()
	}
}

func (f *Watcher) pollEvery() time.Duration {
	if f.system == nil {
		return pollTime
	}
	return slowPollTime
}

// event handles a file system notification.
func (f *Watcher) event(e fsnotify.Event) {
	if f.wanted(e.Name) {
		f.mark(e.Name)
	}
}

// watch adds a folder to the notifications; a missing one is found by polling.
func (f *Watcher) watch(dir string) {
	if f.system == nil {
		return
	}
	err := f.system.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Logger.Warn("folder is polled: the system cannot watch it", "folder", dir, "error", err)
	}
}
