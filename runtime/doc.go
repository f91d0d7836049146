// Package runtime runs one untrusted WebAssembly module under limits. It knows nothing of MCP.
//
// Two words for two states: a Module is compiled, immutable and shared; an Instance is a Module
// with a memory of its own, and serves one call at a time.
//
//	Engine ── Compile ──▶ Module ── NewPool ──▶ Pool ── Call ──▶ answer, or *EndError, or *GuestError
//	   │                                         │
//	   │ host functions, once                    │ one Instance per call: start, serve, throw away
//	   ▼                                         ▼
//	HostFunc ◀──────── the guest calls ──────── Dialect.Serve (how bytes cross)
//	   │
//	   ▼
//	GateFrom(ctx).Ask: all that a call may do to the world
//
// What a caller may rely on:
//
//   - No call sees anything that another call left behind: memory, globals and tables are those of
//     a module that has just started.
//   - A call ends at its deadline or when its context is done, whatever the guest does: where its code
//     could run for long without a loop, a place to stop is put in (see wasmbin.Interruptible).
//   - A guest has no more memory than its limit. Modules that would cost the compiler or the host
//     too much are refused before they are compiled.
//   - The Pool owns every Instance. None outlives its call, and nothing is closed under a call.
//   - However a call ends, it is told in one way: see EndError.
//
// The engine is wazero. None of its types leaves this package, and no other package imports it.
//
// The package is internal to Sallyport in spirit: only the plugin contract is promised to others.
package runtime
