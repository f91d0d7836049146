//go:build !linux

package compiler

// running is not known to this system but by its name.
const running = ""
