// Package settings reads what the operator wrote: host settings from flags, SALLYPORT_* variables
// and a file, each with where it came from, and the plugins section with a line for every value.
//
//	flag  ▶  SALLYPORT_* variable  ▶  file  ▶  default        the first that is there wins
//
// The file is YAML without anchors, aliases, tags or duplicate keys. An unknown key is an error
// that names its line: a rule that would not be held is never accepted.
package settings
