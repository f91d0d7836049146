package streamable

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// single returns the single value of a header, or nil if it is absent.
func single(h http.Header, name string) (*string, *refusal) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return &values[0], nil
	}
	return nil, mismatch("more than one %s header", name)
}

// decoded is single with decoding of =?base64?…?=, which wraps values that are not valid in a header.
func decoded(h http.Header, name string) (*string, *refusal) {
	value, f := single(h, name)
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

// checks runs the checks in order until one refuses.
func checks(list ...func() *refusal) *refusal {
	for _, check := range list {
		if f := check(); f != nil {
			return f
		}
	}
	return nil
}

// headerCheck compares a modern message with the headers that repeat its contents, so that intermediaries can trust
// them.
type headerCheck struct {
	message  *jsonrpc.Message
	meta     *envelope.Meta // of the message
	header   http.Header
	versions *versions
	params   func(tool string) []protocol.HeaderParam
}

// run returns the first failure.
func (c *headerCheck) run() *refusal {
	if c.message.IsResponse() {
		return refuse(http.StatusBadRequest, "a response, but nothing was asked")
	}
	return checks(c.version, c.capabilities, c.method, c.name, c.arguments)
}

func (c *headerCheck) version() *refusal {
	header, f := single(c.header, versionHeader)
	if f != nil {
		return f
	}
	raw := c.meta.Version()
	if raw == nil && c.message.IsNotification() {
		return nil // only the header made it modern
	}
	version, ok := jsonraw.String(raw)
	switch {
	case header == nil:
		return mismatch("the MCP-Protocol-Version header is missing")
	case !ok:
		return invalidParams("params._meta needs %q, a string", envelope.MetaVersion)
	case *header != version:
		return mismatch("the MCP-Protocol-Version header says %q, the body %q", clip(*header), clip(version))
	case version < firstModern || !c.versions.served(version):
		return c.versions.unsupported(version)
	}
	return nil
}

// capabilities has no header. It runs here because it precedes the checks of other headers. The protocol defines its
// meaning.
func (c *headerCheck) capabilities() *refusal {
	if c.message.IsRequest() && !jsonraw.IsObject(c.meta.Capabilities) {
		return invalidParams("params._meta needs %q, an object", envelope.MetaCapabilities)
	}
	return nil
}

func (c *headerCheck) method() *refusal {
	m := c.message
	method, f := single(c.header, "Mcp-Method")
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

func (c *headerCheck) name() *refusal {
	m := c.message
	key := nameKey(m.Method)
	if key == "" {
		return nil
	}
	header, f := decoded(c.header, "Mcp-Name")
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

// arguments compares headers with the arguments that a tool's schema marks with x-mcp-header.
func (c *headerCheck) arguments() *refusal {
	m := c.message
	if m.Method != "tools/call" {
		return nil
	}
	tool, _ := jsonraw.String(jsonraw.Get(m.Params, "name"))
	for _, p := range c.params(tool) {
		if f := c.argument(&p, jsonraw.Get(m.Params, "arguments")); f != nil {
			return f
		}
	}
	return nil
}

func (c *headerCheck) argument(p *protocol.HeaderParam, arguments json.RawMessage) *refusal {
	name := "Mcp-Param-" + p.Header
	header, f := decoded(c.header, name)
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
