package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of keys and values: the store is for notes and cursors, not for files.
const (
	maxKey   = 1 << 10 // bytes of a key
	maxValue = 1 << 20 // bytes of a value
	maxKeys  = 1000    // keys in one answer of kv/list
	// maxTTL limits a key's time to live: ten years.
	maxTTL = 10 * 365 * 24 * time.Hour
)

func keyFamily() family {
	acts := []string{"read a stored value", "store a value", "remove a stored value", "list stored values"}
	return family{
		name: "kv", acts: acts, explain: plain("kv", given(grant.KV), acts...),
		methods: map[string]method{
			"kv/get":    keyMethod("kv/get", acts[0], false, getKey),
			"kv/set":    keyMethod("kv/set", acts[1], true, setKey),
			"kv/delete": keyMethod("kv/delete", acts[2], true, deleteKey),
			"kv/list":   keyMethod("kv/list", acts[3], false, listKeys),
		},
		replay: replayObserved, atCommit: true, stays: true,
	}
}

// keyMethod serves one method, with its act.
func keyMethod(name, act string, changes bool, serve func(context.Context, *Gate, json.RawMessage, grant.Decision) (json.RawMessage, error)) method {
	return func(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (result json.RawMessage, err error) {
		e := effect{family: "kv", act: act, target: act, changes: changes, decide: given(grant.KV),
			entry: answerEntry(name, params, &result),
			do: func(ctx context.Context, d grant.Decision) (err error) {
				result, err = serve(ctx, g, params, d)
				return err
			}}
		if g.policy.host.options.Store == nil || !identity.Named(g.call.Principal) {
			return nil, askErrorf(runtime.KindUnsupported, "nothing is kept for this caller")
		}
		err = g.pass(ctx, e) // sets result
		return result, err
	}
}

func keyOf(params json.RawMessage) (string, error) {
	key, ok := jsonraw.String(jsonraw.Get(params, "key"))
	if !ok || key == "" || len(key) > maxKey {
		return "", askErrorf(runtime.KindInvalid, "key is a text of 1 to %d bytes", maxKey)
	}
	return key, nil
}

// getKey answers {value, version}; an absent key is {value: null, version: 0}.
func getKey(ctx context.Context, g *Gate, params json.RawMessage, _ grant.Decision) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	item, err := g.writes.keys.item(ctx, key)
	if err != nil {
		return nil, err
	}
	if item.Value == nil {
		item.Value = []byte("null")
	}
	g.record.count("kv", "read a stored value", 0, 0, int64(len(item.Value)))
	return fmt.Appendf(nil, `{"value":%s,"version":%d}`, item.Value, item.Version), nil
}

func setKey(ctx context.Context, g *Gate, params json.RawMessage, d grant.Decision) (json.RawMessage, error) {
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
	return changeKey(ctx, g, params, w, d)
}

func deleteKey(ctx context.Context, g *Gate, params json.RawMessage, d grant.Decision) (json.RawMessage, error) {
	return changeKey(ctx, g, params, store.Write{Delete: true}, d)
}

// changeKey holds a change back until the call succeeds. With ifVersion, the key must have that version now and at
// the commit.
func changeKey(ctx context.Context, g *Gate, params json.RawMessage, w store.Write, d grant.Decision) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	w.Key = key
	before := g.writes.keys.writes[key]
	if before != nil {
		w.If = before.If
	}
	if raw := jsonraw.Get(params, "ifVersion"); !jsonraw.IsNull(raw) {
		want, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return nil, askErrorf(runtime.KindInvalid, "ifVersion is a version that was answered, or 0 for a key that holds nothing")
		}
		item, err := g.writes.keys.item(ctx, key)
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
	version, err := g.writes.keys.change(w, d.Size)
	if err != nil {
		return nil, err
	}
	g.record.count("kv", "store a value", 0, int64(len(w.Value)), 0)
	if w.Delete {
		return json.RawMessage(`{"version":0}`), nil
	}
	return fmt.Appendf(nil, `{"version":%d}`, version), nil
}

// listKeys answers {keys: [{key, version}], more}: keys with the prefix, after the given key.
func listKeys(ctx context.Context, g *Gate, params json.RawMessage, _ grant.Decision) (json.RawMessage, error) {
	prefix, _ := jsonraw.String(jsonraw.Get(params, "prefix"))
	after, _ := jsonraw.String(jsonraw.Get(params, "after"))
	limit := maxKeys
	if n, err := strconv.Atoi(string(jsonraw.Get(params, "limit"))); err == nil && n > 0 {
		limit = min(n, maxKeys)
	}
	all, more, err := g.writes.keys.list(ctx, prefix, after, limit)
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
