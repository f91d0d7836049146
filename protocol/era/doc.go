// Package era is which of MCP's versions a request belongs to, what its envelope says, and the form of its result.
//
//	modern   2026-07-28                 each request names its version in params._meta; nothing is remembered
//	legacy   2024-11-05 … 2025-11-25    a session that initialize began, with the version agreed on there
//
// A request is modern if its params._meta names a version at all; so both kinds may come over one connection.
//
// This package is internal to Sallyport: it is not promised to others.
package era
