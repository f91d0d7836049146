// Package wasmbin reads a WebAssembly binary: what it imports and exports, what its custom sections hold,
// how much memory it starts with, and each instruction of its code. It never runs or compiles anything.
//
//	file ── Read ──▶ *Binary ── HasExport, ImportsModule, CustomSection   (which dialect? a manifest?)
//	                    └────── Check ──▶ refuse it, or *Checked, which the rewriter and the compiler get
//
// Read looks at the head of the module only and leaves the code alone, so that hundreds of files
// can be looked at when the host starts. Check walks the code once and refuses what would cost the
// compiler, or the instance, more than any real plugin needs.
//
// What Check returns is the module written anew from what was decoded: every type, segment and instruction, each number in as
// few bytes as it needs. No byte of code is copied, so no byte can mean one thing here and another to the compiler. What has no
// decoded form is refused. Of the custom sections only the names of functions are left.
//
// SetCustomSection writes one section of a file and leaves every other byte as it was.
//
// Every input is hostile: no function here panics, and each takes time and memory in proportion to
// the file's size. What Read and Check accept may still be invalid; validation proper is the
// compiler's.
//
// The package is internal to Sallyport in spirit: only the plugin contract is promised to others.
package wasmbin
