//go:build !linux

package host

// running is empty: this system gives no path to the running executable besides its name.
const running = ""
