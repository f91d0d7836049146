// Package hostfuncs performs the effects of guests outside their sandbox, each behind a capability check.
//
// Each effect is one value that the Gate of the call passes: it checks the effect against the plugin's policy, records
// it for the receipt, and performs it:
//
//	            Ask(method, params)                            ┌ log       slog, the client
//	guest ──▶ ABI ──────────────▶ Gate.pass ── check ─ effect ──┼ progress  the client
//	   └────▶ WASI ──▶ jail ──────▶ ▲            │             ├ net       our own HTTP client
//	            Allow(op, path)     │            └─▶ Denial     └ fs        the files of the host
//	                             Policy               why, and the line that would allow it
//	                    (grants, configuration)
//
// A gate has parts, each with its own fields: rules decide, consents hold the answers of the operator and the caller,
// replay is the journal, the recorder collects the receipt, the session is the exchange with the caller, writes are
// held back until the commit, intents are announced before a change, and the lifetime ends it all.
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
// Gate.Denials returns the denials of a call. The table of families lists the kinds of effects, with the host functions
// that Ask serves.
package hostfuncs
