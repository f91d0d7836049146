//go:build unix

package main

import "syscall"

// limitProcess bounds what this process may use. Where the system refuses, the one that waits for it ends it in
// time.
func limitProcess() {
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_AS:   maxCompileMemory,
		syscall.RLIMIT_CPU:  maxCompileSeconds,
		syscall.RLIMIT_CORE: 0,
	} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}
