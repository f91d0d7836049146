// Package wish is what a client says about one call of a tool, in _meta keys of this host's own.
//
// This package is internal to Sallyport and may change.
package wish

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// The keys.
const (
	MaxBytes = "dev.sallyport/maxBytes"       // lowers the bound of the answer, in bytes
	dryRun   = "dev.sallyport/dryRun"         // true: nothing that the call does lasts
	Once     = "dev.sallyport/idempotencyKey" // the same key and arguments are one call
)

// minBytes is the least bound of an answer: room for the notice that it was cut.
const minBytes = 512

// maxOnce bounds an idempotency key, in bytes.
const maxOnce = 255

// Wishes are what a client says about one call.
type Wishes struct {
	MaxBytes int    // the bound of the answer; 0 says nothing
	DryRun   bool   // nothing that the call does lasts
	Once     string // the idempotency key; "" says nothing
}

// Read reads them from the params of a call.
func Read(params json.RawMessage) (w Wishes, err error) {
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
