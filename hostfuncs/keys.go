package hostfuncs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxWrites limits the keys changed by one call.
const maxWrites = 10_000

// keys are the stored keys as a call sees them, with its own changes. They are committed with its files when it
// succeeds. Only the guest's goroutine changes them.
type keys struct {
	policy *Policy
	call   *Call

	mu      sync.Mutex // for changes
	writes  map[string]*keyWrite
	bytes   int64
	quota   int64
	version int64 // of the last change; negative, unlike the store's versions
}

type keyWrite struct {
	store.Write
	version int64
}

// space returns the key space of the plugin for the caller.
func (k *keys) space() store.Space {
	return store.Space{Plugin: k.policy.plugin.Name, Principal: k.call.Principal}
}

// item returns the item of a key; an absent key has no value and version 0.
func (k *keys) item(ctx context.Context, key string) (store.Item, error) {
	if w := k.writes[key]; w != nil {
		if w.Delete {
			return store.Item{Key: key}, nil
		}
		return store.Item{Key: key, Value: w.Value, Version: w.version}, nil
	}
	item, err := k.policy.host.options.Store.Value(ctx, k.space(), key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Item{Key: key}, nil
	}
	return item, k.failure(err)
}

// failure logs an error of the store and returns the guest's error.
func (k *keys) failure(err error) error {
	if err == nil {
		return nil
	}
	k.policy.host.options.Logger.Error("the store failed", "plugin", k.policy.plugin.Name, "call", k.call.ID, "error", err, k.call.Trace.Attr())
	return askErrorf(runtime.KindUnavailable, "the store is unavailable")
}

// change holds one write back until the commit, and returns the version that the call sees. The changes of the call
// must fit into quota bytes.
func (k *keys) change(w store.Write, quota int64) (version int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.writes[w.Key]
	more := int64(len(w.Key) + len(w.Value))
	if before != nil {
		more -= int64(len(before.Key) + len(before.Value))
	}
	if k.bytes+more > quota || before == nil && len(k.writes) >= maxWrites {
		return 0, askErrorf(runtime.KindLimit, "plugin %q keeps more than the %d bytes that it was granted", k.policy.plugin.Name, quota)
	}
	k.bytes += more
	k.version--
	if k.writes == nil {
		k.writes = map[string]*keyWrite{}
	}
	k.writes[w.Key] = &keyWrite{Write: w, version: k.version}
	k.quota = quota
	return k.version, nil
}

// list returns one page of keys. It reads on past keys that the call has changed.
func (k *keys) list(ctx context.Context, prefix, after string, limit int) (page []store.Item, more bool, err error) {
	found := map[string]int64{}
	last, whole := after, false
	for len(found) <= limit && !whole {
		items, err := k.policy.host.options.Store.Keys(ctx, k.space(), prefix, last, maxKeys)
		if err != nil {
			return nil, false, k.failure(err)
		}
		for _, item := range items {
			if k.writes[item.Key] == nil {
				found[item.Key] = item.Version
			}
			last = item.Key
		}
		whole = len(items) < maxKeys
	}
	for key, w := range k.writes {
		if !w.Delete && strings.HasPrefix(key, prefix) && key > after && (whole || key <= last) {
			found[key] = w.version
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if len(page) == limit {
			return page, true, nil
		}
		page = append(page, store.Item{Key: key, Version: found[key]})
	}
	return page, !whole, nil
}

// changed returns the number of changed keys.
func (k *keys) changed() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.writes)
}

// batch returns the changes, in the order of their keys.
func (k *keys) batch() store.Batch {
	b := store.Batch{Space: k.space(), Quota: k.quota}
	for _, key := range slices.Sorted(maps.Keys(k.writes)) {
		b.Writes = append(b.Writes, k.writes[key].Write)
	}
	return b
}
