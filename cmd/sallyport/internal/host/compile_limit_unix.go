//go:build unix && !freebsd && !dragonfly

package host

import "syscall"

// limitProcess sets resource limits on this process. Where the system refuses, the deadline of the parent still holds.
func limitProcess() {
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_AS:   maxMemory,
		syscall.RLIMIT_CPU:  maxSeconds,
		syscall.RLIMIT_CORE: 0,
	} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}
