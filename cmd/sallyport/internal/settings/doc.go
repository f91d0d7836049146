// Package settings reads the operator's configuration: host settings from flags, SALLYPORT_* variables and a file, each
// with its source, and the plugins section with the line of every value.
//
//	flag  ▶  SALLYPORT_* variable  ▶  file  ▶  default        the first one set wins
//
// The file is YAML without anchors, aliases, tags or duplicate keys. An unknown key is an error with its line, so that
// no mistyped rule is silently ignored.
package settings
