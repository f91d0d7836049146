// Package auth knows who may speak to an HTTP endpoint: named bearer tokens.
//
// A tokens file has one token a line, as a name and the SHA-256 of the token in hexadecimal:
//
//	# who          what sha256sum says of the token
//	ci-runner:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8
//
// Add makes a token, appends such a line, and gives the token back for the only time. A token has
// 256 random bits, so its plain hash cannot be searched for, and the file is worth nothing to a
// reader. It has mode 0600 anyway: who can write it can let anybody in.
//
// The one exception is the local token, which Local makes at first start: programs on this
// machine, under this user, must be able to find it, so it stands in the clear in a file of its
// own with mode 0600.
//
// The package is internal to Sallyport; its API is not promised to others.
package auth
