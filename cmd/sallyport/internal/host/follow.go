package host

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// lookAgain is how often the configuration file is looked at: a person who has saved it and turns to the
// client finds it in force, and it costs nothing.
const lookAgain = 250 * time.Millisecond

// fileState tells one content of a file from another, as far as can be told without reading it.
type fileState struct {
	size  int64
	mtime time.Time
	info  os.FileInfo // nil: it is not there
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

// Follow keeps a host up to date with its configuration and its lock file until stop is called.
func (h *Host) Follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	if file := h.settings.Watched(); file != "" {
		following.Go(func() { h.followSettings(ctx, file, stateIn(h.settings.Was)) })
	}
	following.Go(func() { h.followLock(ctx) })
	return func() {
		cancel()
		following.Wait()
	}
}

// followLock takes over what was approved in another process.
func (h *Host) followLock(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.Registry.Relock(); err != nil {
			h.log.Error("the changed lock file is not in force: all stays as it was", "error", err)
		}
	}
}

// followSettings takes changes of the configuration file over until ctx is done. What is wrong is logged
// with its line, and all stays as it was; running calls go on as they began.
func (h *Host) followSettings(ctx context.Context, file string, seen fileState) {
	s := h.settings
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	pending := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stateOf(file)
		if !now.same(seen) {
			seen, pending = now, true
			continue // it may still be written
		}
		if !pending {
			continue
		}
		pending = false
		if next := h.takeOver(s); next != nil {
			s = next
		}
	}
}

// takeOver reads the file and puts it in force; nil if it cannot be.
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
		if key != "workspace" && !live[key] {
			h.log.Warn("a changed setting takes effect at the next start", "key", key)
		}
	}
	h.log.Info("the changed configuration is in force", "file", next.File)
	return next
}

// configure takes changed settings over, for the calls that begin later. What the settings of the start name is in use
// until the next one, and those in force stay so if these are refused: all three are protected.
func (h *Host) configure(inForce, next *settings.Settings) error {
	h.Gates.Protect(slices.Concat(protected(h.settings, nil), protected(inForce, nil), protected(next, nil)))
	defaults, plugins := Limits(next, settings.Limits{}), pluginConfigs(next)
	defaults.Ask = h.settings.Duration("limits.ask") // which holds from the start on, see live
	for name, c := range plugins {
		c.Limits.Ask = defaults.Ask
		plugins[name] = c
	}
	if err := h.Registry.Reconfigure(plugins, defaults); err != nil {
		return err
	}
	h.Engine.Keep(uint64(next.Bytes("limits.kept")))
	return nil
}

// live are the keys whose changes hold for the calls that begin later.
var live = map[string]bool{
	"limits.memory": true, "limits.deadline": true, "limits.task": true, "limits.output": true, "limits.concurrency": true,
	"limits.queue": true, "limits.wait": true, "limits.kept": true,
}
