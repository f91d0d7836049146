package sallyport

import (
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// KVOption sets a condition or a lifetime of a [KVSet] or [KVDelete].
type KVOption func(o *jsontext.Object)

// IfVersion makes the change only if the key has this version: the one that was read, or 0 for a key that is absent.
// Otherwise the error is an [*AskError] of [KindConflict].
func IfVersion(version int64) KVOption {
	return func(o *jsontext.Object) { o.Raw("ifVersion", []byte(itoa(version))) }
}

// TTL removes the key after a time.
func TTL(d time.Duration) KVOption {
	return func(o *jsontext.Object) { o.Raw("ttlMs", []byte(itoa(d.Milliseconds()))) }
}

// KVGet reads a stored value. A key that is absent has version 0 and the zero value of T, and is no error. The keys of
// a plugin need a kv grant.
func KVGet[T any](c *Call, key string) (value T, version int64, err error) {
	var answer struct {
		Value   json.RawMessage `json:"value"`
		Version int64           `json:"version"`
	}
	if err := c.Ask("kv/get", kvParams(key, nil), &answer); err != nil {
		return value, 0, err
	}
	if len(answer.Value) > 0 {
		err = json.Unmarshal(answer.Value, &value)
	}
	return value, answer.Version, err
}

// KVSet stores a value under a key, to be committed when the call succeeds, and returns the key's version in this call.
func KVSet(c *Call, key string, value any, options ...KVOption) (version int64, err error) {
	raw, err := jsontext.Marshal(value)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Version int64 `json:"version"`
	}
	err = c.Ask("kv/set", kvParams(key, raw, options...), &answer)
	return answer.Version, err
}

// KVDelete removes a key. A key that is absent is no error.
func KVDelete(c *Call, key string, options ...KVOption) error {
	return c.Ask("kv/delete", kvParams(key, nil, options...), nil)
}

// KVKey is a key in a [KVList].
type KVKey struct {
	Key     string `json:"key"`
	Version int64  `json:"version"`
}

// KVList returns up to limit keys with a prefix, in order, after the given key; "" begins with the first one, and a
// limit of 0 is that of the host. more reports whether there are others.
func KVList(c *Call, prefix, after string, limit int) (keys []KVKey, more bool, err error) {
	var o jsontext.Object
	o.Optional("prefix", prefix)
	o.Optional("after", after)
	if limit > 0 {
		o.Raw("limit", []byte(itoa(int64(limit))))
	}
	var answer struct {
		Keys []KVKey `json:"keys"`
		More bool    `json:"more"`
	}
	err = c.Ask("kv/list", json.RawMessage(o.Bytes()), &answer)
	return answer.Keys, answer.More, err
}

func kvParams(key string, value []byte, options ...KVOption) json.RawMessage {
	var o jsontext.Object
	o.Text("key", key)
	if value != nil {
		o.Raw("value", value)
	}
	for _, option := range options {
		option(&o)
	}
	return o.Bytes()
}
