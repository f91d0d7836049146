// Package era determines the MCP era of a request, parses its envelope and formats results.
//
//	modern   2026-07-28                 each request names its version in params._meta; nothing is remembered
//	legacy   2024-11-05 … 2025-11-25    a session that initialize began, with the version agreed on there
//
// A request is modern if its params._meta has a protocol version, so one connection may carry both eras.
//
// This package is internal to Sallyport and may change.
package era
