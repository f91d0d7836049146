package hostfuncs

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// writes are the uncommitted writes of a call, and of the nested calls that succeeded.
type writes struct {
	keys  keys
	files atomic.Pointer[overlay.Overlay] // nil before the first use of files

	mu    sync.Mutex
	inner []*writes // of nested calls, committed with this one
}

// any reports whether the call itself has changed files or keys.
func (w *writes) any() bool {
	files := w.files.Load()
	return w.keys.changed() > 0 || files != nil && len(files.Effects()) > 0
}

// adopt takes over the writes of a nested call.
func (w *writes) adopt(inner *writes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner = append(w.inner, inner)
}

// all returns the writes of a call and of all its nested calls, in the order in which they ended.
func (w *writes) all() (all []*writes) {
	w.mu.Lock()
	inner := slices.Clone(w.inner)
	w.mu.Unlock()
	for _, i := range inner {
		all = append(all, i.all()...)
	}
	return append(all, w)
}

// calleesWrote reports whether nested calls have uncommitted writes.
func (w *writes) calleesWrote() bool {
	return slices.ContainsFunc(w.all(), func(one *writes) bool { return one != w && one.any() })
}

// would returns the writes that a dry run holds back.
func (w *writes) would(h *Host) (held receipt.Would) {
	if n := w.keys.changed(); n > 0 {
		held.Add("keys", n, fmt.Sprintf("keep or remove %d keys", n))
	}
	files := w.files.Load()
	if files == nil {
		return held
	}
	for _, e := range files.Effects() {
		what := e.Do + " " + h.shown(e.Host)
		if e.Do == "write" {
			what += fmt.Sprintf(" (%d bytes)", e.Size)
		}
		held.Add(e.Do, 1, what)
	}
	return held
}

// batches returns the keys changed by these calls.
func batches(calls []*writes) (all []store.Batch) {
	for _, w := range calls {
		if w.keys.changed() > 0 {
			all = append(all, w.keys.batch())
		}
	}
	return all
}

// changeSet merges the files of several calls: the later write to a path wins, and folders made by both are merged.
type changeSet struct {
	changes  []commit.Change
	at       map[string]int
	releases []func()
}

// collect adds the files of calls, in the order in which they ended.
func (s *changeSet) collect(calls []*writes) error {
	for _, w := range calls {
		files := w.files.Load()
		if files == nil {
			continue
		}
		changes, release, err := files.Changes()
		if err != nil {
			return err
		}
		s.add(changes, release)
	}
	return nil
}

func (s *changeSet) add(changes []commit.Change, release func()) {
	s.releases = append(s.releases, release)
	if s.at == nil {
		s.at = map[string]int{}
	}
	for _, c := range changes {
		i, have := s.at[c.Path]
		if !have {
			s.at[c.Path] = len(s.changes)
			s.changes = append(s.changes, c)
			continue
		}
		if old := s.changes[i].Put; old != nil && c.Put != nil && old.Dir && c.Put.Dir {
			c.Put.Children = append(old.Children, c.Put.Children...)
		}
		s.changes[i] = c
	}
}

func (s *changeSet) release() {
	for _, f := range s.releases {
		f()
	}
}
