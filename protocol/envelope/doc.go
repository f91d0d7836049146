// Package envelope parses requests and formats their results for the revision of the client. Parse reads each request
// once, when it is accepted, and a Call carries its method, params and _meta. No other package interprets the _meta of a
// request.
//
//	modern   2026-07-28                 each request names its version in params._meta; nothing is remembered
//	legacy   2024-11-05 … 2025-11-25    a session that initialize began, with the version agreed on there
//
// A request is modern if its params._meta has a protocol version, so one connection may carry both eras. Besides its
// version and capabilities, _meta may hold the client's options for one call (Meta.Wishes) and the name of a session of
// a modern client, whose connections carry none (Sessions).
package envelope
