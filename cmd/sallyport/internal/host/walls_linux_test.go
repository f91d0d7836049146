package host

import landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

// walls reports whether this kernel can confine a process, its connections too.
func walls() bool {
	version, err := landlock.LandlockGetABIVersion()
	return err == nil && version >= 4
}
