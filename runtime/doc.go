// Package runtime runs one untrusted WebAssembly module under limits. It knows nothing of MCP.
//
// A Module is compiled, immutable and shared. An Instance is a Module with its own memory, and serves one call at a
// time.
//
//	Engine ── Compile ──▶ Module ── NewPool ──▶ Pool ── Call ──▶ result, or *EndError, or *GuestError
//	   │       rewritten, for fuel │              │
//	   │       and snapshots       ▼              │ a clean Instance: serve, restore, serve again
//	   │                   image of a started     │
//	   │                   Instance, made once ──▶│
//	   │ host functions, once                     ▼
//	HostFunc ◀──────── the guest calls ──────── Dialect.Serve (the ABI)
//	   │
//	   ▼
//	GateFrom(ctx).Ask: every effect of a call
//
// Guarantees:
//
//   - A call sees no state of an earlier call: memory, globals, tables and segments are those of the image. A call
//     under StateFresh gets a newly started instance. Only StateSession and StatePlugin share state between calls.
//   - An instance whose guest trapped, exited or was aborted is never reused. One that was suspended is (Suspend).
//   - A call ends at its deadline or when its context is done, regardless of the guest: every loop and function
//     consumes fuel, and the deadline is checked at each refill (see package rewrite). Time spent waiting for people
//     does not count (Pause).
//   - Fuel is deterministic: the same work consumes the same amount, so it can be reported and compared (Usage).
//   - A guest has no more memory than its limit. Modules that would cost the compiler or the host too much are rejected
//     before compilation.
//   - The Pool owns every Instance. No instance is closed during a call, and no engine handle that could call a guest
//     leaves this package.
//   - Every call that fails ends with an *EndError, unless the guest returned a *GuestError.
//
// The engine is wazero. None of its types leaves this package, and only benchmarks and tests import it elsewhere.
package runtime
