package streamable

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// header returns the single value of a header, or nil if it is absent.
func (x *exchange) header(name string) (*string, *refusal) {
	values := x.r.Header.Values(name)
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return &values[0], nil
	}
	return nil, mismatch("more than one %s header", name)
}

// text is header with decoding of =?base64?…?=, which wraps values that are not valid in a header.
func (x *exchange) text(name string) (*string, *refusal) {
	value, f := x.header(name)
	if value == nil || f != nil {
		return nil, f
	}
	plain, ok := unwrap(*value)
	if !ok {
		return nil, mismatch("the %s header is not visible ASCII, nor proper base64", name)
	}
	return &plain, nil
}

// unwrap decodes a header value. The markers are case-sensitive. Without both the value is literal.
func unwrap(value string) (string, bool) {
	inner, begins := strings.CutPrefix(value, "=?base64?")
	inner, ends := strings.CutSuffix(inner, "?=")
	if begins && ends {
		plain, err := base64.StdEncoding.Strict().DecodeString(inner)
		return string(plain), err == nil
	}
	hidden := strings.ContainsFunc(value, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' })
	return value, !hidden
}

func (x *exchange) checkMethod(m *jsonrpc.Message) *refusal {
	method, f := x.header("Mcp-Method")
	switch {
	case f != nil:
		return f
	case method == nil && m.IsNotification():
		return nil
	case method == nil:
		return mismatch("the Mcp-Method header is missing")
	case *method != m.Method:
		return mismatch("the Mcp-Method header says %q, the body %q", clip(*method), clip(m.Method))
	}
	return nil
}

// nameKey returns the member of params that Mcp-Name repeats, or "" for methods without one.
func nameKey(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

func (x *exchange) checkName(m *jsonrpc.Message) *refusal {
	key := nameKey(m.Method)
	if key == "" {
		return nil
	}
	header, f := x.text("Mcp-Name")
	if f != nil {
		return f
	}
	name, present := jsonraw.String(jsonraw.Get(m.Params, key))
	switch {
	case header == nil && present:
		return mismatch("the Mcp-Name header is missing")
	case header == nil: // also absent from the body, which the method reports
		return nil
	case !present:
		return mismatch("the Mcp-Name header says %q, and params.%s is no string", clip(*header), key)
	case *header != name:
		return mismatch("the Mcp-Name header says %q, params.%s %q", clip(*header), key, clip(name))
	}
	return nil
}

// checkParams compares headers with the arguments that a tool's schema marks with x-mcp-header.
func (x *exchange) checkParams(m *jsonrpc.Message) *refusal {
	if m.Method != "tools/call" {
		return nil
	}
	tool, _ := jsonraw.String(jsonraw.Get(m.Params, "name"))
	for _, p := range x.h.server.HeaderParams(tool) {
		if f := x.checkParam(&p, jsonraw.Get(m.Params, "arguments")); f != nil {
			return f
		}
	}
	return nil
}

func (x *exchange) checkParam(p *protocol.HeaderParam, arguments json.RawMessage) *refusal {
	name := "Mcp-Param-" + p.Header
	header, f := x.text(name)
	if f != nil {
		return f
	}
	value := jsonraw.Get(arguments, p.Path...)
	path := strings.Join(p.Path, ".")
	switch absent := jsonraw.IsNull(value); {
	case absent && header != nil:
		return mismatch("the %s header has a value, and the argument %s has none", name, path)
	case absent:
		return nil
	case header == nil:
		return mismatch("the %s header is missing, and the argument %s has a value", name, path)
	case !sameValue(*header, value):
		return mismatch("the %s header and the argument %s differ", name, path)
	}
	return nil
}

// sameValue compares a header with a JSON value. Numbers are compared by value: 1.0 in a header equals 1 in the body.
func sameValue(header string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		s, ok := jsonraw.String(value)
		return ok && header == s
	case 't', 'f':
		return header == string(value)
	case '{', '[':
		return false
	}
	return header == string(value) || sameNumber(header, string(value))
}

// sameNumber compares numbers by value if a float represents all integers of their size exactly, and otherwise by
// text.
func sameNumber(a, b string) bool {
	const exact = 1 << 53
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y && math.Abs(x) < exact && !strings.ContainsAny(a, "xX_pPiInN")
}
