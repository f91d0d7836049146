package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// The _meta keys with which a client says more about one call.
const (
	metaMaxBytes = "dev.sallyport/maxBytes"       // lowers the bound of the answer, in bytes
	metaDryRun   = "dev.sallyport/dryRun"         // true: nothing that the call does lasts
	metaOnce     = "dev.sallyport/idempotencyKey" // the same key and arguments are one call
)

// minBytes is the least bound of an answer: room for the notice that it was cut.
const minBytes = 512

// maxOnceKey bounds an idempotency key, in bytes.
const maxOnceKey = 255

// wishes are what a client says about one call of a tool.
type wishes struct {
	maxBytes int // 0 says nothing
	dryRun   bool
	once     string // empty says nothing
}

// wishes reads the _meta keys of this host's own.
func (r *request) wishes() (w wishes, err error) {
	meta := rawjson.Get(r.params, "_meta")
	if !rawjson.IsObject(meta) {
		return w, nil
	}
	if raw := rawjson.Get(meta, metaMaxBytes); !rawjson.IsNull(raw) {
		if w.maxBytes, err = strconv.Atoi(string(raw)); err != nil || w.maxBytes < minBytes {
			return w, jsonrpc.InvalidParams("%s is a whole number of bytes, %d at least", metaMaxBytes, minBytes)
		}
	}
	if w.dryRun, err = boolean(meta, metaDryRun); err != nil {
		return w, err
	}
	if raw := rawjson.Get(meta, metaOnce); !rawjson.IsNull(raw) {
		key, ok := rawjson.String(raw)
		if !ok || key == "" || len(key) > maxOnceKey {
			return w, jsonrpc.InvalidParams("%s is a text of 1 to %d bytes", metaOnce, maxOnceKey)
		}
		w.once = key
	}
	if w.once != "" && (r.server.opts.Store == nil || r.conn.opts.Principal == anonymous) {
		return w, jsonrpc.InvalidParams("%s needs a caller with a name", metaOnce)
	}
	return w, nil
}

func boolean(meta json.RawMessage, key string) (bool, error) {
	switch raw := rawjson.Get(meta, key); string(raw) {
	case "", "null", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, jsonrpc.InvalidParams("%s is true or false", key)
}

// anonymous is the principal for whom nothing is kept: nobody can tell who it is.
const anonymous = "anonymous"
