package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// envelopeSize is room for what stands around an id and a result in a response.
const envelopeSize = 48

// prepared answers with a result that is ready: one allocation.
func (r *request) prepared(result json.RawMessage) []byte {
	return jsonrpc.AppendResult(make([]byte, 0, len(r.id)+len(result)+envelopeSize), r.id, result)
}

// reply answers with a plugin's result. A cached one is of a kind for which the modern era asks how
// long it may be kept, and by whom: the plugin may say how long, but not that others may see it.
func (r *request) reply(o rawjson.Object, cached bool) []byte {
	meta.Strip(&o)
	return r.frame(o, cached)
}

// frame makes a response of a result object. The members that belong to an era are set here: none
// of them in the legacy era.
func (r *request) frame(o rawjson.Object, cached bool) []byte {
	ttl := o.Get("ttlMs")
	for _, key := range [...]string{"resultType", "ttlMs", "cacheScope"} {
		o.Delete(key)
	}
	if receipt := r.done(); receipt != nil {
		meta.Set(&o, metaReceipt, receipt.JSON())
	}
	r.tellSession(&o)
	if r.modern && o.Get("_meta") != nil {
		meta.Set(&o, era.MetaServerInfo, r.server.info)
	}
	size := len(r.id) + envelopeSize
	if r.modern {
		size += eraSize + len(r.server.meta)
	}
	for _, m := range o {
		size += len(m.Key) + len(m.Value) + 4
	}
	body := append(make([]byte, 0, size), `{"jsonrpc":"2.0","id":`...)
	body = append(body, r.id...)
	body = append(body, `,"result":`...)
	body = o.Append(body)
	if r.modern {
		body = r.appendEra(body, o.Get("_meta") == nil, cached, ttl)
	}
	return rawjson.OneLine(append(body, '}'))
}

// eraSize is room for the members of the modern era but for _meta.
const eraSize = 80

// appendEra adds the members of the modern era to the object that body ends with.
func (r *request) appendEra(body []byte, meta, cached bool, ttl json.RawMessage) []byte {
	body = body[:len(body)-1]
	if body[len(body)-1] != '{' {
		body = append(body, ',')
	}
	body = append(body, `"resultType":"complete"`...)
	if cached {
		body = append(body, `,"ttlMs":`...)
		body = append(body, freshFor(ttl)...)
		body = append(body, `,"cacheScope":"private"`...)
	}
	if meta {
		body = append(body, `,"_meta":`...)
		body = append(body, r.server.meta...)
	}
	return append(body, '}')
}

// maxTTLDigits bounds how long a plugin may have its answer kept: nine digits of milliseconds are
// eleven days.
const maxTTLDigits = 9

// freshFor is a plugin's own word on how long its answer may be kept, in milliseconds; 0 if it has
// none that counts.
func freshFor(ttl json.RawMessage) json.RawMessage {
	if rawjson.IsInteger(ttl) && ttl[0] != '-' && len(ttl) <= maxTTLDigits {
		return ttl
	}
	return json.RawMessage("0")
}
