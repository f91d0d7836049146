package envelope

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

// Form formats the results of one server.
type Form struct {
	// Info is the server's name and version.
	Info json.RawMessage
	// Meta is the default _meta of a modern result. It contains Info.
	Meta json.RawMessage
}

// NewForm returns the Form of a server with this description.
func NewForm(info json.RawMessage) Form {
	return Form{Info: info, Meta: jsonraw.Object{{Key: MetaServerInfo, Value: info}}.Append(nil)}
}

const (
	// envelopeSize is the space for a response without id and result, in bytes.
	envelopeSize = 48
	// eraSize is the space for the modern members without _meta, in bytes.
	eraSize = 80
)

// Prepared builds a response from a complete result, with one allocation.
func Prepared(id, result json.RawMessage) []byte {
	return jsonrpc.AppendResult(make([]byte, 0, len(id)+len(result)+envelopeSize), id, result)
}

// Response builds a one-line response from a result object, with one allocation. It sets the members of the modern
// era, and removes them in the legacy era. cached marks results that require caching members in the modern era. The
// plugin's ttlMs may set their lifetime, but never share them between callers.
func (f *Form) Response(id json.RawMessage, o jsonraw.Object, modern, cached bool) []byte {
	ttl := o.Get("ttlMs")
	for _, key := range [...]string{"resultType", "ttlMs", "cacheScope"} {
		o.Delete(key)
	}
	if modern && o.Get("_meta") != nil {
		untrusted.SetMeta(&o, MetaServerInfo, f.Info)
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
	return jsonraw.OneLine(append(body, '}'))
}

// appendModern adds the modern members to the object at the end of body.
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

// maxTTLDigits limits a plugin's ttlMs. Nine digits of milliseconds are eleven days.
const maxTTLDigits = 9

// freshFor returns a plugin's ttlMs if it is valid, else 0.
func freshFor(ttl json.RawMessage) json.RawMessage {
	if jsonraw.IsInteger(ttl) && ttl[0] != '-' && len(ttl) <= maxTTLDigits {
		return ttl
	}
	return json.RawMessage("0")
}

// Uncached sets the caching members of a modern host result, which clients fetch each time. The scope is the single caller,
// as lists may depend on the caller.
func Uncached(o *jsonraw.Object) {
	o.Set("ttlMs", json.RawMessage("0"))
	o.Set("cacheScope", json.RawMessage(`"private"`))
}
