// Package wasmbin reads the outside of a WebAssembly binary: what it imports and exports, what its
// custom sections hold, how much memory it starts with. It never runs or compiles anything.
//
//	file ── Read ──▶ *Binary ── HasExport, ImportsModule, CustomSection   (which dialect? a manifest?)
//	                    └────── Check ──▶ refuse it, or hand it to the compiler
//
// Read looks at the head of the module only and leaves the code alone, so that hundreds of files
// can be looked at when the host starts. Check walks the code once and refuses what would cost the
// compiler, or the instance, more than any real plugin needs. SetCustomSection writes one section
// and leaves every other byte as it was.
//
// Every input is hostile: no function here panics, and each takes time and memory in proportion to
// the file's size. What Read and Check accept may still be invalid; validation proper is the
// compiler's.
//
// The package is internal to Sallyport in spirit: only the plugin contract is promised to others.
package wasmbin
