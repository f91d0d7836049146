// Package hostfuncs performs the effects of guests outside their sandbox, each behind a capability check.
//
// All effects go through the Gate of the call. One of its functions checks the effect against the plugin's policy,
// records it for the receipt, and performs it:
//
//	            Ask(method, params)                              ┌ log       slog, the client
//	guest ──▶ ABI ──────────────▶ Gate ── check ─ record ─ effect ┼ progress  the client
//	   └────▶ WASI ──▶ jail ──────▶ ▲        │                    ├ net       our own HTTP client
//	            Allow(op, path)     │        └─▶ Denial: why, and  └ fs        the files of the host
//	                             Policy          the line that
//	                    (grants, configuration)  would allow it
//
// A program has one Host. It makes a Policy for each plugin from the operator's grants, and a Policy makes a Gate
// for each call:
//
//	host := hostfuncs.NewHost(&hostfuncs.Options{Logger: logger, Home: home})
//	policy := host.Plugin(hostfuncs.Plugin{Name: "github", Digest: digest, Grants: grants})
//	gate := policy.NewGate(hostfuncs.Call{ID: id, Method: "tools/call", Client: client})
//	defer gate.Close()
//	result, err := pool.Call(ctx, request, gate)
//	receipt := gate.Receipt()
//
// An effect without a grant is denied with the plugin's name, the effect, and the narrowest line that would allow it.
// Gate.Denials returns the denials of a call. The table of methods lists the host functions that Ask serves.
package hostfuncs
