package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
)

// view returns the caller's view of the current catalog.
func (r *request) view() *listing.View { return r.server.views.For(r.server.catalog, r.caller) }

// page answers with the requested page of a list.
func page(r *request, l *listing.List) ([]byte, error) {
	result, err := l.Page(jsonraw.Get(r.call.Params, "cursor"), r.call.Modern)
	if err != nil {
		return nil, err
	}
	return r.prepared(result), nil
}

func listTools(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.view().Tools)
}

func listResources(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.view().Resources)
}

func listTemplates(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.view().Templates)
}

func listPrompts(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.view().Prompts)
}

// listSkills serves skills/list.
func listSkills(_ context.Context, r *request) ([]byte, error) {
	return page(r, &r.view().Skills)
}

// HeaderParam is a tool argument that modern clients repeat in an HTTP header.
type HeaderParam = untrusted.HeaderParam

// HeaderParams returns the arguments of the tool with that public name that are repeated in headers, in schema
// order, or nil if there are none or id sees no such tool. The slice must not be modified.
func (s *Server) HeaderParams(id identity.Identity, tool string) []HeaderParam {
	return s.views.For(s.catalog, id).Headers(tool)
}
