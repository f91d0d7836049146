// Package serving answers the calls of a plugin and replaces one version of it with the next without dropping a call.
//
//	entry ──▶ Generation ──▶ module or code ──▶ gate ──▶ answer ──▶ commit
//	              │ retired
//	              └──▶ the Plugin's current one
//
// A Generation is one version of a plugin under one configuration: the module or built-in code that answers, the policy
// of its gates, and its published entries. It counts running calls. After Retire it admits no calls, and Drain closes
// it when the last has ended; a call to one of its entries is served by the plugin's current generation.
package serving
