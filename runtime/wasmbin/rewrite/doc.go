// Package rewrite instruments a WebAssembly module before compilation, so that the host can interrupt its code
// anywhere, meter it, and restore its state:
//
//	file ── wasmbin.Read, Check ──▶ Checked ── Rewrite ──▶ module for the compiler, and Info
//
// Its only input is a module in the canonical encoding of Check; added code uses the same encoding.
//
// # Metering
//
// The module gets a fuel counter, a global exported as [FuelGlobal]. Every loop iteration at its head, and every
// function at its entry, subtracts the number of instructions in the straight part of the code that begins there; a
// part with branches counts as if all of them were taken. A long part checks the counter again on its way. Callers pay
// for small functions without calls. Instructions whose time grows with an operand (memory.fill and the like) pay by
// that operand, before they run. When the counter falls below zero, the code calls [RefillImport], of type () -> i64,
// which returns its new value. There the host checks deadline, cancellation and fuel limit, and ends the guest or
// continues. The fuel spent is the fuel granted minus the counter, so the sum is exact; it is deterministic for the
// same code on the same input.
//
// A second counter, [DepthGlobal], bounds recursion before the engine's own stack is exhausted, which would cost far
// more. Functions with calls subtract their weight at entry and restore it on every way out, tail calls included.
// While it is below zero, every entry calls refill too, and the host must end the guest there. One branch checks both
// counters.
//
// Function references that the code takes (ref.func) come from an added table: the engine would allocate a new
// reference each time and keep it as long as the instance, outside of the memory limit.
//
// # Simplification
//
// The engine compiles each instruction by itself. So metered code gets shorter first: constants are converted in
// advance, sums for addresses are computed in 32 bits, conversions that cancel are left out, and comparisons are turned
// instead of negated. Go's compiler writes a function as one loop around a table of jumps; a jump that goes forward
// becomes a branch past the head of that loop, and one that goes back a loop of its own, of copied code (see
// dispatch.go). Fuel is counted for the original instructions, but such jumps do not begin another iteration of that loop.
//
// # Snapshots
//
// Mutable globals that the module defines are exported, so that the host can read and set them; the start function is
// exported instead of run; active data segments are removed and listed in Info. The host instantiates the module,
// copies the data, and calls start. Memory and globals are then its whole state, unless code changes tables or drops
// segments ([Info.References]).
//
// # Guarantees
//
// All of WebAssembly 2.0 is supported, tail calls, some of which become calls (see tail.go), and exceptions, which package
// unwind compiles first; anything else is rejected. A valid module stays valid and computes the same. An invalid module
// never becomes valid, but for exception references, which are numbers (see package unwind): additions come after existing
// entries, or shift them, and an index past the end is rejected rather than shifted to an added entry. The input is
// untrusted: no function panics, and time and memory are proportional to the file's size.
package rewrite
