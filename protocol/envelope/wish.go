package envelope

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
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

// Wishes returns the client's options for the call.
func (m *Meta) Wishes() (w Wishes, err error) {
	o := m.options
	if o == nil {
		return w, nil
	}
	if !jsonraw.IsNull(o.maxBytes) {
		if w.MaxBytes, err = strconv.Atoi(string(o.maxBytes)); err != nil || w.MaxBytes < minBytes {
			return w, jsonrpc.InvalidParams("%s is a whole number of bytes, %d at least", MaxBytes, minBytes)
		}
	}
	if w.DryRun, err = boolean(dryRun, o.dryRun); err != nil {
		return w, err
	}
	if !jsonraw.IsNull(o.once) {
		key, ok := jsonraw.String(o.once)
		if !ok || key == "" || len(key) > maxOnce {
			return w, jsonrpc.InvalidParams("%s is a text of 1 to %d bytes", Once, maxOnce)
		}
		w.Once = key
	}
	return w, nil
}

func boolean(key string, raw json.RawMessage) (bool, error) {
	switch string(raw) {
	case "", "null", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, jsonrpc.InvalidParams("%s is true or false", key)
}
