package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
)

// current returns the view of the current catalog.
func (s *Server) current() *listing.View { return s.views.Of(s.catalog) }

// view returns the caller's view of the current catalog.
func (c *Conn) view() *listing.View { return c.server.views.For(c.server.catalog, c.opts.Principal) }

// page answers with the requested page of a list.
func page(r *request, l *listing.List) ([]byte, error) {
	result, err := l.Page(jsonraw.Get(r.call.Params, "cursor"), r.call.Modern)
	if err != nil {
		return nil, err
	}
	return r.prepared(result), nil
}

func listTools(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.conn.view().Tools)
}

func listResources(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.conn.view().Resources)
}

func listTemplates(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.conn.view().Templates)
}

func listPrompts(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.conn.view().Prompts)
}

// listSkills serves skills/list.
func listSkills(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.conn.view().Skills)
}

// HeaderParam is a tool argument that modern clients repeat in an HTTP header.
type HeaderParam = untrusted.HeaderParam

// HeaderParams returns the arguments of the tool with that public name that are repeated in headers, in schema
// order, or nil if there are none or no such tool. The caller must not modify the slice.
func (s *Server) HeaderParams(tool string) []HeaderParam { return s.current().Headers(tool) }
