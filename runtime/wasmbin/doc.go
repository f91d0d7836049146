// Package wasmbin parses WebAssembly binaries: imports, exports, custom sections, the initial memory size, and each
// instruction of the code. It never runs or compiles code.
//
//	file ── Read ──▶ *Binary ── HasExport, ImportsModule, CustomSection   (which ABI? a manifest?)
//	                    └────── Check ──▶ an error, or *Checked, the input of the rewriter and the compiler
//
// Read parses only the head of the module and skips the code, so that the host can inspect hundreds of files at start.
// Check decodes the code once and rejects modules that would cost the compiler, or the instance, more than any real
// plugin needs.
//
// Check returns the module in canonical encoding, written from the decoded form: every type, segment and instruction,
// with each number in its shortest encoding. No byte of code is copied, so this package and the compiler cannot
// interpret a byte differently. Anything without a decoded form is rejected. Of the custom sections only the function
// names remain.
//
// SetCustomSection replaces one section of a file and leaves all other bytes unchanged.
//
// Every input is untrusted: no function here panics, and each takes time and memory proportional to the file's size.
// Modules that Read and Check accept may still be invalid; the compiler validates them.
package wasmbin
