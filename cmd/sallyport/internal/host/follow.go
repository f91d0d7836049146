package host

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry/folder"
)

// lookAgain is the time in which a changed configuration file has to stay as it is: short enough that a saved change is in
// force before the operator returns to the client.
const lookAgain = 250 * time.Millisecond

// fileState identifies a version of a file by its metadata.
type fileState struct {
	size  int64
	mtime time.Time
	info  os.FileInfo // nil if the file does not exist
}

func stateOf(file string) fileState {
	info, err := os.Stat(file)
	if err != nil {
		return fileState{}
	}
	return stateIn(info)
}

func stateIn(info os.FileInfo) fileState {
	if info == nil {
		return fileState{}
	}
	return fileState{size: info.Size(), mtime: info.ModTime(), info: info}
}

func (a fileState) same(b fileState) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return a.size == b.size && a.mtime.Equal(b.mtime) && os.SameFile(a.info, b.info)
}

// Follow applies changes of the configuration and the lock file to the host until stop is called.
func (h *Host) Follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	var files []string
	var looks []func() bool
	if file := h.settings.Watched(); file != "" {
		files, looks = append(files, file), append(looks, h.settingsLook(file, stateIn(h.settings.Was)))
	}
	switch {
	case h.lock == nil:
	case h.lock.Store() != nil:
		following.Go(func() { h.followDatabase(ctx) })
	default:
		files, looks = append(files, h.settings.LockFile()), append(looks, func() (again bool) { h.relock(ctx); return false })
	}
	if len(files) > 0 {
		look := func() (again bool) {
			for _, look := range looks {
				again = look() || again
			}
			return again
		}
		following.Go(func() {
			folder.Follow(ctx, folder.FollowOptions{Files: files, Look: look, Soon: lookAgain, Logger: h.log})
		})
	}
	return func() {
		cancel()
		following.Wait()
	}
}

// followDatabase applies approvals of other hosts of the database.
func (h *Host) followDatabase(ctx context.Context) {
	wake, every, stop := h.lock.Changes()
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		h.relock(ctx)
	}
}

// relock applies approvals of other processes.
func (h *Host) relock(ctx context.Context) {
	if err := h.Registry.Relock(ctx); err != nil && ctx.Err() == nil {
		h.log.Error("changes of the lock are not in force: all stays as it was", "error", err)
	}
	if h.lock.Restored() {
		h.log.Warn("the lock in the database is an older one: plugins that were approved since are held, which sallyport list shows")
	}
}

// settingsLook returns a look at the configuration file, which applies a change when a later look finds no more. Errors
// are logged with their line, and the old configuration stays in force. Running calls keep the settings they began with.
func (h *Host) settingsLook(file string, seen fileState) func() (again bool) {
	s, pending := h.settings, false
	return func() bool {
		now := stateOf(file)
		if !now.same(seen) {
			seen, pending = now, true
			return true // it may still be written
		}
		if !pending {
			return false
		}
		pending = false
		if next := h.takeOver(s); next != nil {
			s = next
		}
		return false
	}
}

// takeOver reads the file and applies it; nil on an error.
func (h *Host) takeOver(s *settings.Settings) *settings.Settings {
	next, err := s.Reload()
	if err == nil {
		err = h.configure(s, next)
	}
	if err != nil {
		h.log.Error("the changed configuration is not in force: all stays as it was", "error", err)
		return nil
	}
	for _, key := range settings.Differ(s, next) {
		if !live(key) {
			h.log.Warn("a changed setting takes effect at the next start", "key", key)
		}
	}
	h.log.Info("the changed configuration is in force", "file", next.File)
	return next
}

// configure applies changed settings to later calls. Files named by the settings at start are in use until the next
// start, and those of the current settings stay so if the new ones are refused: all three are protected.
func (h *Host) configure(inForce, next *settings.Settings) error {
	h.Gates.Protect(slices.Concat(protected(h.settings, nil), protected(inForce, nil), protected(next, nil)))
	defaults, plugins := Limits(next, settings.Limits{}), pluginConfigs(next)
	defaults.Ask = h.settings.Duration("limits.ask") // fixed at start
	for name, c := range plugins {
		c.Limits.Ask = defaults.Ask
		plugins[name] = c
	}
	if err := h.Registry.Reconfigure(plugins, defaults); err != nil {
		return err
	}
	h.usage.Set(next.Quotas)
	h.Engine.Keep(uint64(next.Bytes("limits.kept")))
	h.Engine.LimitLoaded(uint64(next.Bytes("limits.loaded")))
	return nil
}

// live reports whether a changed setting applies to later calls, without a restart.
func live(key string) bool {
	return slices.ContainsFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == key && k.Live })
}
