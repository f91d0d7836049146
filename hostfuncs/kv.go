package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of keys and values: the store is for notes and cursors, not for files.
const (
	maxKey    = 1 << 10 // bytes of a key
	maxValue  = 1 << 20 // bytes of a value
	maxWrites = 10_000  // keys changed by one call
	maxKeys   = 1000    // keys in one answer of kv/list
	// maxTTL limits a key's time to live: ten years.
	maxTTL = 10 * 365 * 24 * time.Hour
)

// anonymous is the principal shared by unidentified callers: nothing is stored for it.
const anonymous = "anonymous"

// pending are the keys that a call has changed, committed with its files when it succeeds.
type pending struct {
	writes  map[string]*pendingWrite
	bytes   int64
	quota   int64
	version int64 // of the last change; negative, unlike the store's versions
}

type pendingWrite struct {
	store.Write
	version int64
}

// keys serves kv/get, kv/set, kv/delete and kv/list.
func keys(act string, changes bool, serve func(*Gate, context.Context, json.RawMessage, grant.Decision) (json.RawMessage, error)) method {
	return func(g *Gate, ctx context.Context, params json.RawMessage, _ runtime.Streams) (result json.RawMessage, err error) {
		e := effect{family: "kv", act: act, target: act, decide: (*grant.Set).KV,
			forbid: func() string {
				if g.call.ReadOnly && changes {
					return saysReadOnly
				}
				return ""
			},
			do: func(ctx context.Context, d grant.Decision) (err error) {
				result, err = serve(g, ctx, params, d)
				return err
			}}
		if g.policy.host.store == nil || g.call.Principal == anonymous {
			return nil, askErrorf(runtime.KindUnsupported, "nothing is kept for this caller")
		}
		return result, g.pass(ctx, e)
	}
}

func keyMethods() map[string]method {
	return map[string]method{
		"kv/get":    keys("read a stored value", false, (*Gate).getKey),
		"kv/set":    keys("store a value", true, (*Gate).setKey),
		"kv/delete": keys("remove a stored value", true, (*Gate).deleteKey),
		"kv/list":   keys("list stored values", false, (*Gate).listKeys),
	}
}

// space returns the key space of this plugin for this caller.
func (g *Gate) space() store.Space {
	return store.Space{Plugin: g.policy.plugin.Name, Principal: g.call.Principal}
}

func keyOf(params json.RawMessage) (string, error) {
	key, ok := jsonraw.String(jsonraw.Get(params, "key"))
	if !ok || key == "" || len(key) > maxKey {
		return "", askErrorf(runtime.KindInvalid, "key is a text of 1 to %d bytes", maxKey)
	}
	return key, nil
}

// getKey answers {value, version}; an absent key is {value: null, version: 0}.
func (g *Gate) getKey(ctx context.Context, params json.RawMessage, _ grant.Decision) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	item, err := g.value(ctx, key)
	if err != nil {
		return nil, err
	}
	if item.Value == nil {
		item.Value = []byte("null")
	}
	g.count("kv", "read a stored value", 0, 0, int64(len(item.Value)))
	return fmt.Appendf(nil, `{"value":%s,"version":%d}`, item.Value, item.Version), nil
}

// value returns the item of a key as the call sees it; an absent key has no value and version 0.
func (g *Gate) value(ctx context.Context, key string) (store.Item, error) {
	if w := g.kept.writes[key]; w != nil {
		if w.Delete {
			return store.Item{Key: key}, nil
		}
		return store.Item{Key: key, Value: w.Value, Version: w.version}, nil
	}
	item, err := g.policy.host.store.Value(ctx, g.space(), key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Item{Key: key}, nil
	}
	return item, g.storeError(err)
}

func (g *Gate) storeError(err error) error {
	if err == nil {
		return nil
	}
	g.policy.host.logger.Error("the store failed", "plugin", g.policy.plugin.Name, "call", g.call.ID, "error", err)
	return askErrorf(runtime.KindUnavailable, "the store is unavailable")
}

func (g *Gate) setKey(ctx context.Context, params json.RawMessage, d grant.Decision) (json.RawMessage, error) {
	value := jsonraw.Get(params, "value")
	if value == nil || len(value) > maxValue {
		return nil, askErrorf(runtime.KindInvalid, "value is JSON of at most %d bytes", maxValue)
	}
	w := store.Write{Value: slices.Clone(value)}
	if raw := jsonraw.Get(params, "ttlMs"); !jsonraw.IsNull(raw) {
		ms, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || ms <= 0 || ms > maxTTL.Milliseconds() {
			return nil, askErrorf(runtime.KindInvalid, "ttlMs is a whole number of milliseconds above zero")
		}
		w.Expires = time.Now().Add(time.Duration(ms) * time.Millisecond)
	}
	return g.changeKey(ctx, params, w, d)
}

func (g *Gate) deleteKey(ctx context.Context, params json.RawMessage, d grant.Decision) (json.RawMessage, error) {
	return g.changeKey(ctx, params, store.Write{Delete: true}, d)
}

// changeKey holds a change back until the call succeeds. With ifVersion, the key must have that version now and at
// the commit.
func (g *Gate) changeKey(ctx context.Context, params json.RawMessage, w store.Write, d grant.Decision) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	w.Key = key
	before := g.kept.writes[key]
	if before != nil {
		w.If = before.If
	}
	if raw := jsonraw.Get(params, "ifVersion"); !jsonraw.IsNull(raw) {
		want, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return nil, askErrorf(runtime.KindInvalid, "ifVersion is a version that was answered, or 0 for a key that holds nothing")
		}
		item, err := g.value(ctx, key)
		if err != nil {
			return nil, err
		}
		if item.Version != want {
			return nil, askErrorf(runtime.KindConflict, "key %q has version %d", cut(key, maxMethod), item.Version)
		}
		if before == nil {
			w.If = &want
		}
	}
	return g.keep(w, before, d)
}

func (g *Gate) keep(w store.Write, before *pendingWrite, d grant.Decision) (json.RawMessage, error) {
	more := int64(len(w.Key) + len(w.Value))
	if before != nil {
		more -= int64(len(before.Key) + len(before.Value))
	}
	if g.kept.bytes+more > d.Size || before == nil && len(g.kept.writes) >= maxWrites {
		return nil, askErrorf(runtime.KindLimit, "plugin %q keeps more than the %d bytes that it was granted", g.policy.plugin.Name, d.Size)
	}
	g.kept.bytes += more
	g.kept.version--
	if g.kept.writes == nil {
		g.kept.writes = map[string]*pendingWrite{}
	}
	g.kept.writes[w.Key] = &pendingWrite{Write: w, version: g.kept.version}
	g.kept.quota = d.Size
	g.count("kv", "store a value", 0, int64(len(w.Value)), 0)
	if w.Delete {
		return json.RawMessage(`{"version":0}`), nil
	}
	return fmt.Appendf(nil, `{"version":%d}`, g.kept.version), nil
}

// listKeys answers {keys: [{key, version}], more}: keys with the prefix, after the given key.
func (g *Gate) listKeys(ctx context.Context, params json.RawMessage, _ grant.Decision) (json.RawMessage, error) {
	prefix, _ := jsonraw.String(jsonraw.Get(params, "prefix"))
	after, _ := jsonraw.String(jsonraw.Get(params, "after"))
	limit := maxKeys
	if n, err := strconv.Atoi(string(jsonraw.Get(params, "limit"))); err == nil && n > 0 {
		limit = min(n, maxKeys)
	}
	all, more, err := g.listed(ctx, prefix, after, limit)
	if err != nil {
		return nil, err
	}
	out := []byte(`{"keys":[`)
	for i, item := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonraw.AppendString(append(out, `{"key":`...), item.Key)
		out = fmt.Appendf(out, `,"version":%d}`, item.Version)
	}
	return fmt.Appendf(out, `],"more":%v}`, more), nil
}

// listed returns one page of keys as the call sees them. It reads on past keys that the call has changed.
func (g *Gate) listed(ctx context.Context, prefix, after string, limit int) (page []store.Item, more bool, err error) {
	found := map[string]int64{}
	last, whole := after, false
	for len(found) <= limit && !whole {
		items, err := g.policy.host.store.Keys(ctx, g.space(), prefix, last, maxKeys)
		if err != nil {
			return nil, false, g.storeError(err)
		}
		for _, item := range items {
			if g.kept.writes[item.Key] == nil {
				found[item.Key] = item.Version
			}
			last = item.Key
		}
		whole = len(items) < maxKeys
	}
	for key, w := range g.kept.writes {
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

// batches returns the keys changed by these calls.
func batches(gates []*Gate) (all []store.Batch) {
	for _, g := range gates {
		if len(g.kept.writes) == 0 {
			continue
		}
		b := store.Batch{Space: g.space(), Quota: g.kept.quota}
		for _, key := range slices.Sorted(maps.Keys(g.kept.writes)) {
			b.Writes = append(b.Writes, g.kept.writes[key].Write)
		}
		all = append(all, b)
	}
	return all
}
