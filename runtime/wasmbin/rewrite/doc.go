// Package rewrite changes a WebAssembly module, before it is compiled, so that the host can stop its
// code anywhere, count what it does, and put its state back:
//
//	file ── wasmbin.Read, Check ──▶ Checked ── Rewrite ──▶ module that the compiler sees, and Info
//
// Its only input is a module that Check has written anew; what is added is in the same encoding.
//
// # Metering
//
// The module gets a counter of fuel, a global that it exports as [FuelGlobal]. Every loop takes from
// it at its head, on each turn, and every function at its entry, as many units as the straight part
// of the code that begins there has instructions; a part with branches counts as if all of them
// were taken. A long part looks at the counter again on its way. Small functions that call nothing are paid for by their callers. Instructions whose time
// grows with an operand (memory.fill and the like) pay by that operand, before they run. Whenever
// the counter falls below zero the code calls [RefillImport], of type () -> i64, and what it
// returns is the counter's new value. There the host looks at deadlines, cancellation and budgets,
// and ends the guest, or goes on. What was spent between two refills is what was granted minus what
// the counter shows, so the sum is exact; it is the same in every run of the same code on the same input.
//
// A second counter, [DepthGlobal], bounds recursion before the engine's own stack is exhausted, which
// would cost far more. Functions that call others take their weight from it at entry and give it
// back on every way out. When it is below zero, refill is called too, at each entry; the host must
// end the guest there. The check is one branch for both.
//
// A reference of a function that the code takes comes from a table which is added: the engine would make a new one each time
// and keep it as long as the instance, outside of the memory that is counted.
//
// # Snapshots
//
// Mutable globals that the module defines are exported, so that the host can read and set them; the start
// function is exported instead of being run; active data segments are taken out and listed in
// Info. The host instantiates the module, copies the data, and calls start: then memory and globals are all there is of
// its state, unless code changes tables or drops segments ([Info.References]).
//
// # What holds
//
// Everything in the second version of WebAssembly is understood, anything else is refused. A valid
// module stays valid and computes the same. An invalid module never becomes valid: what is added comes
// after what was there, or shifts it, and a number that pointed past the end is refused rather than
// shifted onto something new. The input is hostile: nothing here panics, and time and memory are in
// proportion to the file's size.
package rewrite
