package main

import "golang.org/x/sys/unix"

// machine is the machine of this program's system calls.
const machine = unix.AUDIT_ARCH_X86_64

// allowedHere returns the allowed calls that only this machine has.
func allowedHere() []int { return []int{unix.SYS_EPOLL_WAIT, unix.SYS_ARCH_PRCTL} }
