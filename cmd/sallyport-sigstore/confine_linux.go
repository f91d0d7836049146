//go:build linux && (amd64 || arm64)

package main

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine takes the right to everything but computing and the open pipes from all threads of this process, for good. A
// system that has no such filter leaves the process as it is.
func confine() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: maxSeconds, Max: maxSeconds})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return
	}
	rules := filter()
	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	// Where a thread cannot be brought under the filter, the kernel applies it to none.
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(rules)
}

// maxSeconds limits the processor time; a verification takes a few milliseconds.
const maxSeconds = 60

// allowed returns the numbers of the system calls that a Go program makes to compute: memory, threads of its own,
// time, signals, and reading and writing open files.
func allowed() []int {
	return slices.Concat(allowedHere(), []int{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FCNTL, unix.SYS_PIPE2, unix.SYS_EVENTFD2,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MINCORE, unix.SYS_BRK,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_TGKILL, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_RESTART_SYSCALL, unix.SYS_GETRANDOM,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	})
}

// Offsets in the data of a filter: the number of the call, its machine, and the lower half of its first argument.
const (
	atNumber  = 0
	atMachine = 4
	atFirst   = 16
)

// filter returns the program of the filter: calls of another machine end the process, a clone has to make a thread,
// and calls that are not allowed fail with EPERM.
func filter() []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	result := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	equal := func(value int, then, or uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(value), Jt: then, Jf: or}
	}
	allow, refuse := result(unix.SECCOMP_RET_ALLOW), result(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	rules := []unix.SockFilter{
		load(atMachine), equal(machine, 1, 0), result(unix.SECCOMP_RET_KILL_PROCESS),
		load(atNumber),
		equal(unix.SYS_CLONE3, 0, 1), result(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)), // its flags are in memory; callers go back to clone
		equal(unix.SYS_CLONE, 0, 4), load(atFirst),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jf: 1}, allow, refuse,
	}
	for _, number := range allowed() {
		rules = append(rules, equal(number, 0, 1), allow)
	}
	return append(rules, refuse)
}
