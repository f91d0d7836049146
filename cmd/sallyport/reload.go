package main

import (
	"context"
	"log/slog"
	"os"
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
	return fileState{size: info.Size(), mtime: info.ModTime(), info: info}
}

func (a fileState) same(b fileState) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return a.size == b.size && a.mtime.Equal(b.mtime) && os.SameFile(a.info, b.info)
}

// follow keeps a host up to date with its configuration and its lock file until stop is called.
func (h *host) follow(ctx context.Context, s *settings.Settings, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { followSettings(ctx, s, h, log) })
	following.Go(func() { followLock(ctx, h, log) })
	return func() {
		cancel()
		following.Wait()
	}
}

// followLock takes over what was approved in another process.
func followLock(ctx context.Context, h *host, log *slog.Logger) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.registry.Relock(); err != nil {
			log.Error("the changed lock file is not in force: all stays as it was", "error", err)
		}
	}
}

// followSettings takes changes of the configuration file over until ctx is done. What is wrong is logged
// with its line, and all stays as it was; running calls go on as they began.
func followSettings(ctx context.Context, s *settings.Settings, h *host, log *slog.Logger) {
	file := s.Watched()
	if file == "" {
		return
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	seen, pending := stateOf(file), false
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
		if next := takeOver(s, h, log); next != nil {
			s = next
		}
	}
}

// takeOver reads the file and puts it in force; nil if it cannot be.
func takeOver(s *settings.Settings, h *host, log *slog.Logger) *settings.Settings {
	next, err := s.Reload()
	if err == nil {
		err = h.configure(next)
	}
	if err != nil {
		log.Error("the changed configuration is not in force: all stays as it was", "error", err)
		return nil
	}
	for _, key := range settings.Differ(s, next) {
		if key != "workspace" && !isLimit(key) {
			log.Warn("a changed setting takes effect at the next start", "key", key)
		}
	}
	log.Info("the changed configuration is in force", "file", next.File)
	return next
}

// isLimit reports whether a key bounds calls; those that begin later have it.
func isLimit(key string) bool { return len(key) > 7 && key[:7] == "limits." }
