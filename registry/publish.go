package registry

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// publisher holds the published state, and tells watchers and the log about its changes.
type publisher struct {
	log   *slog.Logger
	notes *catalog.Notifier
	shown atomic.Pointer[shown]
}

// shown is the published state at one moment.
type shown struct {
	snapshot *catalog.Snapshot
	status   []Status
}

func newPublisher(log *slog.Logger) *publisher {
	p := &publisher{log: log, notes: catalog.NewNotifier()}
	p.shown.Store(&shown{snapshot: &catalog.Snapshot{}})
	return p
}

// snapshot returns the current catalog.
func (pub *publisher) snapshot() *catalog.Snapshot { return pub.shown.Load().snapshot }

// plugins returns a copy of the current status.
func (pub *publisher) plugins() []Status {
	list := slices.Clone(pub.shown.Load().status)
	for i := range list {
		list[i].Warnings = slices.Clone(list[i].Warnings)
	}
	return list
}

// loading returns the names of the plugins that are being loaded.
func (pub *publisher) loading() string {
	var all []string
	for _, s := range pub.shown.Load().status {
		if s.State == StateLoading {
			all = append(all, s.Name)
		}
	}
	return strings.Join(all, " ")
}

// publish publishes the offers of the serving generations.
func (pub *publisher) publish(serving []*generation, status []Status) {
	old := pub.shown.Load()
	offers := make([]*catalog.Offer, len(serving))
	for i, g := range serving {
		offers[i] = g.Offer()
	}
	next := catalog.Join(offers, func(plugin, problem string) {
		for i := range status {
			if status[i].Name == plugin {
				status[i].Warnings = append(status[i].Warnings, problem)
			}
		}
	})
	count(next, status)
	change := catalog.Between(old.snapshot, next)
	next.Generation = old.snapshot.Generation
	if change.Lists() {
		next.Generation++
	}
	pub.shown.Store(&shown{snapshot: next, status: status})
	if !reflect.DeepEqual(old.status, status) {
		change.Updated = map[string]bool{builtinURI: true}
	}
	pub.report(old.status, status)
	pub.notes.Tell(change)
}

// report logs each status that changed.
func (pub *publisher) report(old, now []Status) {
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
		pub.reportOne(s)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		pub.log.Info("plugin removed", "plugin", before[key].Name, "file", before[key].File)
	}
}

// sameButCounts reports whether two statuses differ at most in their counts of entries: a plugin can change these in
// each call, too often for the log.
func sameButCounts(a, b Status) bool {
	a.Counts = b.Counts
	return reflect.DeepEqual(a, b)
}

func (pub *publisher) reportOne(s Status) {
	attrs := []any{"plugin", s.Name, "file", s.File, "state", string(s.State)}
	for _, w := range s.Warnings {
		level := slog.LevelWarn
		if slices.Contains(s.intended, w) {
			level = slog.LevelInfo
		}
		pub.log.Log(context.Background(), level, "plugin: "+w, "plugin", s.Name, "file", s.File)
	}
	switch {
	case s.absent:
		pub.log.Info("plugin: "+s.Error, attrs...)
	case s.Error != "":
		pub.log.Error("plugin: "+s.Error, attrs...)
	case s.State == StateLoaded && s.Dialect != "go":
		pub.log.Info("plugin loaded", append(attrs, "digest", s.Digest, "tools", s.Tools)...)
	default:
		pub.log.Debug("plugin "+string(s.State), attrs...)
	}
}
