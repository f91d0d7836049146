package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newFailure takes from the gate of a call what helps to understand its failure.
func newFailure(plugin, call string, gate *hostfuncs.Gate, err error) *catalogue.Failure {
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		err = &runtime.GuestError{Code: guest.Code, Message: string(gate.Redact([]byte(guest.Message))), Data: gate.Redact(guest.Data)}
	}
	f := &catalogue.Failure{Plugin: plugin, CallID: call, Err: err, Stderr: strings.ToValidUTF8(string(gate.Stderr()), "\uFFFD")}
	gate.Ended(outcome(err))
	for _, d := range gate.Denials() {
		f.Denials = append(f.Denials, d.Reason)
	}
	return f
}

// outcome is a failure in one word, for the receipt.
func outcome(err error) string {
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &end):
		return string(end.Kind)
	case errors.As(err, &ask):
		return string(ask.Kind)
	}
	return string(runtime.KindGuest)
}

// maxChanges is how often one call may change its plugin's lists: each time the catalogue is made
// anew, for everybody.
const maxChanges = 16

// gateCall is a call as the gate wants to know it.
func gateCall(c catalogue.Call, r catalogue.Request, changed changedFunc) hostfuncs.Call {
	var changes atomic.Int32
	g := hostfuncs.Call{
		ID: c.ID, Principal: c.Principal, Method: r.Method, Params: r.Params, DryRun: c.DryRun, ReadOnly: r.ReadOnly || c.ReadOnly, Client: c.Client, Chain: c.Chain,
		Journal: c.Journal,
		Changed: func(method string, params json.RawMessage) {
			if method == resourceUpdated || changes.Add(1) <= maxChanges {
				changed(method, params)
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
