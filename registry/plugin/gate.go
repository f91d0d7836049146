package plugin

import (
	"encoding/json"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// maxChanges limits how often one call may change its plugin's lists: each change rebuilds the catalog.
const maxChanges = 16

// gateCall converts a call and its request for hostfuncs.
func gateCall(c catalog.Call, r catalog.Request, changed changedFunc) hostfuncs.Call {
	var changes atomic.Int32
	principal := c.Principal
	g := hostfuncs.Call{
		ID: c.ID, Principal: c.Principal, Roles: c.Roles, Method: r.Method, Params: r.Params, Trace: c.Trace, DryRun: c.DryRun, ReadOnly: r.ReadOnly || c.ReadOnly, Client: c.Client, Chain: c.Chain,
		Journal: c.Journal, Settle: c.Settle,
		Changed: func(method string, params json.RawMessage) {
			if method == resourceUpdated || changes.Add(1) <= maxChanges {
				changed(principal, method, params)
			}
		},
	}
	if r.Method != "completion/complete" {
		g.Entry, g.Values = grant.Entry{Kind: string(r.Kind), Name: r.Entry}, r.Values
	}
	if r.Kind == manifest.Tool {
		g.Tool = r.Entry
	}
	return g
}
