package plugin

import (
	"cmp"
	"errors"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newFailure wraps err with the stderr and the denials of the call's gate, and redacts secrets.
func newFailure(plugin, call string, gate *hostfuncs.Gate, err error) *catalog.Failure {
	if end, ok := err.(*runtime.EndError); ok { // it may quote the guest
		clean := *end
		if unset := gate.Unset(); unset != "" && end.Kind == runtime.KindExit {
			clean.Message += "; " + unset
		}
		clean.Message = string(gate.Redact([]byte(clean.Message)))
		err = &clean
	}
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		err = &runtime.GuestError{Code: guest.Code, Message: string(gate.Redact([]byte(guest.Message))), Data: gate.Redact(guest.Data)}
	}
	f := &catalog.Failure{Plugin: plugin, CallID: call, Err: err, Stderr: strings.ToValidUTF8(string(gate.Stderr()), "\uFFFD")}
	gate.Ended(outcome(err))
	for _, d := range gate.Denials() {
		f.Denials = append(f.Denials, cmp.Or(d.Told, d.Reason))
	}
	return f
}

// outcome returns a failure's kind, for the receipt.
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
