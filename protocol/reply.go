package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// envelopeSize is room for what stands around an id and a result in a response.
const envelopeSize = 48

// prepared answers with a result that is ready: one allocation.
func (r *request) prepared(result json.RawMessage) []byte {
	return jsonrpc.AppendResult(make([]byte, 0, len(r.id)+len(result)+envelopeSize), r.id, result)
}

// reply frames a result object. The era's own members are set here and nowhere else. A cached
// result is one for which the modern era asks how long it may be kept, and by whom: the plugin may
// say how long, but not that others may see it.
func (r *request) reply(o rawjson.Object, cached bool) []byte {
	r.stamp(&o, cached)
	size := len(r.id) + envelopeSize
	for _, m := range o {
		size += len(m.Key) + len(m.Value) + 4
	}
	body := append(make([]byte, 0, size), `{"jsonrpc":"2.0","id":`...)
	body = append(body, r.id...)
	body = append(body, `,"result":`...)
	return oneLine(append(o.Append(body), '}'))
}

// stamp gives a result the members that its era has, and takes away those it has not.
func (r *request) stamp(o *rawjson.Object, cached bool) {
	cleanMeta(o)
	ttl := o.Get("ttlMs")
	o.Delete("ttlMs")
	o.Delete("cacheScope")
	if !r.modern {
		o.Delete("resultType")
		return
	}
	*o = slices.Grow(*o, 4)
	o.Set("resultType", json.RawMessage(`"complete"`))
	if cached {
		o.Set("ttlMs", freshFor(ttl))
		o.Set("cacheScope", json.RawMessage(`"private"`))
	}
	r.server.sign(o)
}

// maxTTLDigits bounds how long a plugin may have its answer kept: nine digits of milliseconds are
// eleven days.
const maxTTLDigits = 9

// freshFor is a plugin's own word on how long its answer may be kept, in milliseconds; 0 if it has
// none that counts.
func freshFor(ttl json.RawMessage) json.RawMessage {
	if isInteger(ttl) && ttl[0] != '-' && len(ttl) <= maxTTLDigits {
		return ttl
	}
	return json.RawMessage("0")
}

// sign names this server in the _meta of a result.
func (s *Server) sign(o *rawjson.Object) {
	raw := o.Get("_meta")
	if raw == nil {
		o.Set("_meta", s.meta)
		return
	}
	setMeta(o, metaServerInfo, s.info)
}

// setMeta sets one key of an object's _meta.
func setMeta(o *rawjson.Object, key string, v json.RawMessage) {
	meta, _ := rawjson.ParseObject(o.Get("_meta"))
	meta.Set(key, v)
	o.Set("_meta", meta.Append(nil))
}

// cleanMeta takes out of an object's _meta what a plugin must not say: keys that MCP reserves and
// keys in this server's own name. A _meta that is no object goes as a whole.
func cleanMeta(o *rawjson.Object) {
	raw := o.Get("_meta")
	if raw == nil {
		return
	}
	meta, err := rawjson.ParseObject(raw)
	if err != nil {
		o.Delete("_meta")
		return
	}
	kept := meta[:0]
	for _, m := range meta {
		if !reservedKey(m.Key) {
			kept = append(kept, m)
		}
	}
	if len(kept) == len(meta) {
		return
	}
	o.Set("_meta", kept.Append(nil))
}

// ownPrefix begins the prefix of the _meta keys that only this host writes.
const ownPrefix = "dev.sallyport"

// reservedKey reports whether a _meta key is not for plugins: one whose prefix has mcp or
// modelcontextprotocol as its second label, or is ours.
func reservedKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	prefix = strings.ToLower(prefix)
	if prefix == ownPrefix || strings.HasPrefix(prefix, ownPrefix+".") {
		return true
	}
	_, rest, _ := strings.Cut(prefix, ".")
	second, _, _ := strings.Cut(rest, ".")
	return second == "mcp" || second == "modelcontextprotocol"
}

// oneLine replaces the line ends between the tokens of a JSON text, in place; inside of strings
// JSON allows none. Transports count on it.
func oneLine(msg []byte) []byte {
	for _, end := range []byte{'\n', '\r'} {
		for rest := msg; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return msg
}
