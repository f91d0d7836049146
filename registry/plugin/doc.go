// Package plugin compiles a plugin's file, answers its calls, and replaces one version of it with the next without
// dropping a call.
//
//	file ──▶ Loader ──▶ Module ──┐
//	                             ├──▶ Generation ──▶ gate ──▶ answer ──▶ commit
//	           code, document ───┘        │ retired
//	                                      └──▶ the Plugin's current one
//
// A Module is identified by the digest of its file, described when it is loaded, compiled on first use, and shared. A
// Generation is one version of a plugin under one configuration: the module or built-in code that answers, the policy
// of its gates, and its published entries. It counts running calls. After Retire it admits no calls, and Drain closes
// it when the last has ended; a call to one of its entries is served by the plugin's current generation.
//
// Inspect describes a file without serving it. Wants and Shapes relate a manifest to the grant language.
package plugin
