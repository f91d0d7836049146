//go:build !unix || freebsd || dragonfly

package host

// limitProcess does nothing on this system: the deadline of the parent bounds this process.
func limitProcess() {}
