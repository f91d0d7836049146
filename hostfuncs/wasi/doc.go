// Package wasi is WASI preview 1 for guests: all 46 functions of wasi_snapshot_preview1, with every
// piece of state in the call instead of in the module.
//
//	guest ── fd_read(5, …) ──▶ HostFuncs ──▶ State of this call ──▶ Tree (files)
//	                                              │ descriptors      Pipe or io.Reader/io.Writer (0, 1, 2)
//	                                              └ clocks, random   Options
//
// HostFuncs is stateless and is linked once. Each call brings a State through its gate: when the
// gate in the context implements Host, the functions act on its State, and a second call on the
// same instance meets fresh descriptors. A guest sees exactly one preopened folder, "/" on
// descriptor 3, whose content is the Tree of the call.
//
// What a guest passes is never trusted: a pointer outside its memory answers EFAULT, counts and
// lengths have named limits, and no argument makes a function panic. A function that waits returns
// ECANCELED soon after its context is done.
//
// Choices where the specification leaves room: clocks have a grain of 100 µs; rights are
// reported and decide the access mode of path_open but are not enforced beyond it; no descriptor is
// a socket; a path that begins with a slash, or climbs above its folder, answers EPERM.
//
// This package is internal to Sallyport: it is not promised to others.
//
// Specification: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
package wasi
