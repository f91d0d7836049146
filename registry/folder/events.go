package folder

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// events are the file system notifications, if the system supports them.
type events struct {
	log    *slog.Logger
	open   func() (*fsnotify.Watcher, error)
	system *fsnotify.Watcher // nil: poll only
}

// start starts the notifications; without them the channels are nil.
func (e *events) start() (<-chan fsnotify.Event, <-chan error) {
	system, err := e.open()
	if err != nil {
		e.log.Warn("folders are polled: the system cannot watch them", "error", err)
		return nil, nil
	}
	e.system = system
	return system.Events, system.Errors
}

// close ends the notifications.
func (e *events) close() {
	if e.system != nil {
		e.system.Close()
	}
}

// pollEvery returns the interval of scans.
func (e *events) pollEvery() time.Duration {
	if e.system == nil {
		return pollTime
	}
	return slowPollTime
}

// add adds a folder to the notifications; a missing one is found by polling.
func (e *events) add(dir string) {
	if e.system == nil {
		return
	}
	err := e.system.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("folder is polled: the system cannot watch it", "folder", dir, "error", err)
	}
}
