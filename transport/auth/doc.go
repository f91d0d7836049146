// Package auth authenticates callers of an HTTP endpoint by named bearer tokens.
//
// A tokens file has one token per line, as a name and the SHA-256 of the token in hexadecimal:
//
//	# name         SHA-256 of the token
//	ci-runner:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8
//
// Add makes a token, appends its line, and returns the token, which is not stored. A token has 256 random bits, so
// that its plain hash resists brute force, and reading the file reveals no token. Its mode is 0600 anyway: writing to
// it grants access.
//
// The exception is the local token, which Local makes at the first start. Programs of this user on this machine must
// be able to find it, so it is stored in plain text in a separate file with mode 0600.
package auth
