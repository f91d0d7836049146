// Package oauth verifies access tokens as an OAuth 2.0 resource server for the authorization servers (issuers) that the
// operator names.
//
//	r, err := oauth.Open(ctx, &oauth.Options{URL: "https://tools.example.com/mcp", Issuers: []oauth.Issuer{{URL: "https://id.example.com"}}})
//	id, err := r.Verify(ctx, token)
//
// Open reads the metadata and the keys of each issuer, and fails if clients could not sign in with what Metadata
// publishes. A token is a JWT (RFC 9068) signed by a key of its issuer's key set, or an opaque one that its issuer
// confirms (RFC 7662). Either must name this resource as its audience (RFC 8707).
//
// No error, log line or identity contains any part of a token besides its subject, groups and scopes.
package oauth
