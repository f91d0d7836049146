package protocol

import (
	"errors"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// durable reports whether tasks of a principal outlive the process. Anonymous callers cannot prove their identity
// later.
func durable(principal string) bool { return principal != "" && principal != identity.Anonymous }

// lacking returns Response.Scopes of the error of a request, nil if it lacks no scope.
func (r *request) lacking(err error) []string {
	var lacks *catalog.ScopeError
	if !errors.As(err, &lacks) {
		return nil
	}
	all := slices.Concat(lacks.Scopes, r.server.catalog.Snapshot().Scopes(r.caller.Scopes))
	slices.Sort(all)
	return slices.Compact(all)
}
