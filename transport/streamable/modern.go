package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

const versionHeader = "Mcp-Protocol-Version"

// firstModern is the first revision without sessions. Revisions are dates, and later ones sort after.
const firstModern = envelope.V20260728

// versions are the protocol revisions that are served.
type versions struct {
	all  []string
	list json.RawMessage // as a JSON array
}

func newVersions(all []string) versions {
	return versions{all, jsonraw.Strings(all)}
}

func (v *versions) served(version string) bool { return slices.Contains(v.all, version) }

// unsupported reports the supported revisions to a client.
func (v *versions) unsupported(requested string) *refusal {
	f := refuse(http.StatusBadRequest, "unsupported protocol version")
	f.err.Code = jsonrpc.CodeUnsupportedVersion
	data := append([]byte(`{"supported":`), v.list...)
	data = append(data, `,"requested":`...)
	f.err.Data = append(jsonraw.AppendString(data, clip(requested)), '}')
	return f
}

// checkLegacy refuses a version that is not served. The header may be absent: the session has the version.
func (v *versions) checkLegacy(h http.Header) *refusal {
	version, f := single(h, versionHeader)
	if f != nil {
		return f
	}
	if version != nil && !v.served(*version) {
		return v.unsupported(*version)
	}
	return nil
}

// modern determines the revision of one message: from its own _meta, or else from its header.
func (v *versions) modern(c *envelope.Call, h http.Header) bool {
	version := h.Get(versionHeader)
	return c.Modern || version >= firstModern && v.served(version)
}

func (x *exchange) serveModern(m *jsonrpc.Message, meta *envelope.Meta) *refusal {
	check := headerCheck{message: m, meta: meta, header: x.r.Header, versions: &x.h.versions, params: x.headerParams}
	if f := check.run(); f != nil {
		f.id = m.ID
		return f
	}
	ctx, cancel := context.WithCancel(x.r.Context()) // cancelled when the client disconnects
	defer cancel()
	defer context.AfterFunc(x.h.ctx, cancel)()
	c := x.h.server.connect(protocol.ConnOptions{Principal: x.principal, Roles: x.identity.Roles(), Proof: x.proof})
	defer c.Close()
	x.answer(func(send func([]byte)) protocol.Response { return x.complete(m, c.Handle(ctx, m, send), nil) })
	return nil
}

// headerParams returns the arguments that are repeated in headers, of a tool that the caller sees.
func (x *exchange) headerParams(tool string) []protocol.HeaderParam {
	return x.h.server.HeaderParams(identity.Of(x.principal, x.identity.Roles()), tool)
}

// answer writes the response that handle returns.
func (x *exchange) answer(handle func(send func([]byte)) protocol.Response) {
	a := newAnswer(x)
	defer a.abandon()
	response := handle(a.send)
	a.finish(&response)
}

// complete makes the response to a cancelled request: over HTTP each has one.
func (x *exchange) complete(m *jsonrpc.Message, r protocol.Response, s *session) protocol.Response {
	if r.Body != nil || !m.IsRequest() {
		return r
	}
	why := "the request was cancelled"
	switch {
	case x.h.ctx.Err() != nil:
		why = "the server is shutting down"
	case s != nil && s.ctx.Err() != nil:
		why = "the session has ended"
	}
	r.Err = protocol.Cancelled(why)
	r.Body = jsonrpc.AppendError(nil, m.ID, r.Err)
	return r
}

// status returns the HTTP status for the errors to which the modern revision assigns one. All others have status 200:
// a client that tries both revisions takes 400 for a legacy server.
func status(r *protocol.Response) int {
	switch {
	case r.Quota:
		return http.StatusTooManyRequests
	case r.Busy > 0:
		return http.StatusServiceUnavailable
	case r.Err == nil || !r.Modern:
		return http.StatusOK
	}
	switch r.Err.Code {
	case jsonrpc.CodeHeaderMismatch, jsonrpc.CodeMissingCapability, jsonrpc.CodeUnsupportedVersion:
		return http.StatusBadRequest
	case jsonrpc.CodeMethodNotFound:
		if r.Refused {
			return http.StatusNotFound
		}
	}
	if r.Refused {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func invalidParams(format string, args ...any) *refusal {
	f := refuse(http.StatusBadRequest, format, args...)
	f.err.Code = jsonrpc.CodeInvalidParams
	return f
}
