package era

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Form is the form of the results of one server.
type Form struct {
	// Info is the server's own description: its name and version.
	Info json.RawMessage
	// Meta is the _meta of a modern result that has none of its own: it says Info.
	Meta json.RawMessage
}

// NewForm returns the form for a server that describes itself so.
func NewForm(info json.RawMessage) Form {
	return Form{Info: info, Meta: rawjson.Object{{Key: MetaServerInfo, Value: info}}.Append(nil)}
}

const (
	// envelopeSize is room for what stands around an id and a result in a response.
	envelopeSize = 48
	// eraSize is room for the members of the modern era but for _meta.
	eraSize = 80
)

// Prepared makes a response of a result that is ready, with one allocation.
func Prepared(id, result json.RawMessage) []byte {
	return jsonrpc.AppendResult(make([]byte, 0, len(id)+len(result)+envelopeSize), id, result)
}

// Response makes a response of a result object, on one line, with one allocation. The members that belong to an era are
// set here: none of them in the legacy era. A cached one is of a kind for which the modern era asks how long it may be
// kept, and by whom: its ttlMs may say how long, but not that others may see it.
func (f *Form) Response(id json.RawMessage, o rawjson.Object, modern, cached bool) []byte {
	ttl := o.Get("ttlMs")
	for _, key := range [...]string{"resultType", "ttlMs", "cacheScope"} {
		o.Delete(key)
	}
	if modern && o.Get("_meta") != nil {
		meta.Set(&o, MetaServerInfo, f.Info)
	}
	size := len(id) + envelopeSize
	if modern {
		size += eraSize + len(f.Meta)
	}
	for _, m := range o {
		size += len(m.Key) + len(m.Value) + 4
	}
	body := append(make([]byte, 0, size), `{"jsonrpc":"2.0","id":`...)
	body = append(body, id...)
	body = append(body, `,"result":`...)
	body = o.Append(body)
	if modern {
		body = f.appendModern(body, o.Get("_meta") == nil, cached, ttl)
	}
	return rawjson.OneLine(append(body, '}'))
}

// appendModern adds the members of the modern era to the object that body ends with.
func (f *Form) appendModern(body []byte, meta, cached bool, ttl json.RawMessage) []byte {
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
		body = append(body, f.Meta...)
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

// Cacheable says in a modern result of the host's own how long it may be kept, and that it is for one caller alone: what
// is listed may depend on who asks.
func Cacheable(o *rawjson.Object, ttl time.Duration) {
	o.Set("ttlMs", strconv.AppendInt(nil, ttl.Milliseconds(), 10))
	o.Set("cacheScope", json.RawMessage(`"private"`))
}
