package envelope

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// The keys.
const (
	MaxBytes = "dev.sallyport/maxBytes"       // lowers the answer limit, in bytes
	dryRun   = "dev.sallyport/dryRun"         // true: no effect is committed
	Once     = "dev.sallyport/idempotencyKey" // the same key and arguments are one call
)

// minBytes is the smallest answer limit, with space for the notice of a cut.
const minBytes = 512

// maxOnce is the maximum length of an idempotency key, in bytes.
const maxOnce = 255

// Wishes are a client's options for one call.
type Wishes struct {
	MaxBytes int    // answer limit; 0 if absent
	DryRun   bool   // no effect is committed
	Once     string // idempotency key; "" if absent
}

// ReadWishes parses the options from the params of a call.
func ReadWishes(params json.RawMessage) (w Wishes, err error) {
	meta := jsonraw.Get(params, "_meta")
	if !jsonraw.IsObject(meta) {
		return w, nil
	}
	if raw := jsonraw.Get(meta, MaxBytes); !jsonraw.IsNull(raw) {
		if w.MaxBytes, err = strconv.Atoi(string(raw)); err != nil || w.MaxBytes < minBytes {
			return w, jsonrpc.InvalidParams("%s is a whole number of bytes, %d at least", MaxBytes, minBytes)
		}
	}
	if w.DryRun, err = boolean(meta, dryRun); err != nil {
		return w, err
	}
	if raw := jsonraw.Get(meta, Once); !jsonraw.IsNull(raw) {
		key, ok := jsonraw.String(raw)
		if !ok || key == "" || len(key) > maxOnce {
			return w, jsonrpc.InvalidParams("%s is a text of 1 to %d bytes", Once, maxOnce)
		}
		w.Once = key
	}
	return w, nil
}

func boolean(meta json.RawMessage, key string) (bool, error) {
	switch raw := jsonraw.Get(meta, key); string(raw) {
	case "", "null", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, jsonrpc.InvalidParams("%s is true or false", key)
}
