//go:build unix

package denylist

import "golang.org/x/sys/unix"

// identify returns the identity of a regular file, and whether it has several hard links.
func identify(path string) (id identity, several bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino}, st.Nlink > 1 //nolint:unconvert // narrower on other systems
}
