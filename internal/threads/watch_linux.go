package threads

import "syscall"

// Watch wakes the thread of Go's runtime that interrupts goroutines and looks for their network, if it sleeps: any system
// call does that of which the scheduler knows.
func Watch() { _, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) }
