package host

// running is the executable of this process, even if its file was renamed or removed.
const running = "/proc/self/exe"
