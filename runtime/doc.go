// Package runtime runs one untrusted WebAssembly module under limits. It knows nothing of MCP.
//
// Two words for two states: a Module is compiled, immutable and shared; an Instance is a Module
// with a memory of its own, and serves one call at a time.
//
//	Engine ── Compile ──▶ Module ── NewPool ──▶ Pool ── Call ──▶ answer, or *EndError, or *GuestError
//	   │       rewritten, for fuel │              │
//	   │       and snapshots       ▼              │ a clean Instance: serve, restore, serve again
//	   │                   image of a started     │
//	   │                   Instance, made once ──▶│
//	   │ host functions, once                     ▼
//	HostFunc ◀──────── the guest calls ──────── Dialect.Serve (how bytes cross)
//	   │
//	   ▼
//	GateFrom(ctx).Ask: all that a call may do to the world
//
// What a caller may rely on:
//
//   - No call sees anything that another call left behind: memory and globals are those of the image,
//     byte for byte. A module whose state is not all in them (Module.Clean) gets an instance from
//     nothing for each call. Only what the operator names StateSession or StatePlugin is shared.
//   - An instance whose guest trapped, exited, or was ended is never used again.
//   - A call ends at its deadline or when its context is done, whatever the guest does: every loop and
//     function takes fuel, and who asks for more is looked at (see package rewrite). Waiting for people
//     does not count (Pause).
//   - Fuel is the same for the same work, so that it can be shown and compared (Usage).
//   - A guest has no more memory than its limit. Modules that would cost the compiler or the host
//     too much are refused before they are compiled.
//   - The Pool owns every Instance. Nothing is closed under a call, and nothing of the engine that could
//     call a guest leaves this package.
//   - However a call ends, it is told in one way: see EndError.
//
// The engine is wazero. None of its types leaves this package, and no other package imports it.
//
// The package is internal to Sallyport in spirit: only the plugin contract is promised to others.
package runtime
