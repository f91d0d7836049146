//go:build unix && !freebsd && !dragonfly

package compiler

import "syscall"

// limitProcess bounds what this process may use. Where the system refuses, the one that waits for it ends it in
// time.
func limitProcess() {
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_AS:   maxMemory,
		syscall.RLIMIT_CPU:  maxSeconds,
		syscall.RLIMIT_CORE: 0,
	} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}
