//go:build !unix && !windows

package denylist

// identify finds no hard links: this system cannot report them.
func identify(string) (id identity, several bool) { return identity{}, false }
