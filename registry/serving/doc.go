// Package serving answers the calls of a plugin, and lets one version of it take the place of another without dropping
// a call.
//
//	entry ──▶ Generation ──▶ module or code ──▶ gate ──▶ answer ──▶ what was written lasts
//	              │ retired
//	              └──▶ the Plugin's current one
//
// A Generation is one version of a plugin under one configuration: the module or the code of this process that answers,
// the policy that its gates follow, and what it publishes. It counts the calls that run. Once it is retired it lets none
// in, and Drain closes it when the last has ended; a call by an entry of it goes to the plugin's current generation.
//
// This package is not promised to others; it may change with any version.
package serving
