// Package wasi implements WASI preview 1: all 46 functions of wasi_snapshot_preview1, with their state in the call
// instead of the module.
//
//	guest ── fd_read(5, …) ──▶ HostFuncs ──▶ State of this call ──▶ Tree (files)
//	                                              │ descriptors      Pipe or io.Reader/io.Writer (0, 1, 2)
//	                                              └ clocks, random   Options
//
// HostFuncs is stateless and linked once. Each call has its State in its gate: if the gate in the context implements
// Host, the functions use its State, so that a second call on the same instance has new descriptors. A guest has only
// one preopened folder, "/" on descriptor 3, which is the root of the Tree of the call.
//
// Arguments of a guest are untrusted: a pointer outside its memory is EFAULT, counts and lengths have named limits, and
// no argument makes a function panic. A function that waits returns ECANCELED soon after its context is done.
//
// Choices that the specification leaves to the implementation: clocks have a resolution of 100 µs; rights are reported
// and determine the access mode of path_open but are not enforced otherwise; no descriptor is a socket; a path that
// begins with a slash or leaves its folder is EPERM.
//
// Specification: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
package wasi
