// Package hostfuncs is what a guest may ask of the world outside its sandbox, each thing behind a grant.
//
// Everything goes through one value, the Gate of the call, and there through one function, which
// checks the effect against the plugin's policy, records it for the receipt, and only then lets it
// happen:
//
//	            Ask(method, params)                              ┌ log       slog, the client
//	guest ──▶ dialect ──────────▶ Gate ── check ─ record ─ effect ┼ progress  the client
//	   └────▶ WASI ──▶ tree ──────▶ ▲        │                    ├ net       our own HTTP client
//	            Allow(op, path)     │        └─▶ Denial: why, and  └ fs        the files of the host
//	                             Policy          the line that
//	                    (grants, configuration)  would allow it
//
// A Host is made once. It makes a Policy for each plugin from what the operator granted, and a Policy
// makes a Gate for each call:
//
//	host := hostfuncs.NewHost(&hostfuncs.Options{Logger: logger, Home: home})
//	policy := host.Plugin(hostfuncs.Plugin{Name: "github", Digest: digest, Grants: grants})
//	gate := policy.NewGate(hostfuncs.Call{ID: id, Method: "tools/call", Client: client})
//	defer gate.Close()
//	result, err := pool.Call(ctx, request, gate)
//	receipt := gate.Receipt()
//
// What is not granted is refused with the plugin's name, the effect, and the narrowest line that would
// allow it; the refusals of a call are in Gate.Denials. A new kind of effect is one file with a family
// and one line in the table of methods.
//
// This package is internal to Sallyport: it is not promised to others.
package hostfuncs
