package registry

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
)

// report logs each status that changed.
func (r *Registry) report(old, now []Status) {
	before := map[string]Status{}
	for _, s := range old {
		before[s.Name+"\x00"+s.File] = s
	}
	for _, s := range now {
		key := s.Name + "\x00" + s.File
		was, known := before[key]
		delete(before, key)
		if known && sameButCounts(was, s) {
			continue
		}
		r.reportOne(s)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		r.log.Info("plugin removed", "plugin", before[key].Name, "file", before[key].File)
	}
}

// sameButCounts reports whether two statuses differ at most in their counts of entries: a plugin can change these in
// each call, too often for the log.
func sameButCounts(a, b Status) bool {
	a.Tools, a.Prompts, a.Resources = b.Tools, b.Prompts, b.Resources
	return reflect.DeepEqual(a, b)
}

func (r *Registry) reportOne(s Status) {
	attrs := []any{"plugin", s.Name, "file", s.File, "state", string(s.State)}
	for _, w := range s.Warnings {
		level := slog.LevelWarn
		if slices.Contains(s.intended, w) {
			level = slog.LevelInfo
		}
		r.log.Log(context.Background(), level, "plugin: "+w, "plugin", s.Name, "file", s.File)
	}
	switch {
	case s.absent:
		r.log.Info("plugin: "+s.Error, attrs...)
	case s.Error != "":
		r.log.Error("plugin: "+s.Error, attrs...)
	case s.State == StateLoaded && s.Dialect != "go":
		r.log.Info("plugin loaded", append(attrs, "digest", s.Digest, "tools", s.Tools)...)
	default:
		r.log.Debug("plugin "+string(s.State), attrs...)
	}
}
