package compiler

// running leads to the file that the kernel started, by whatever name and whether it has one still.
const running = "/proc/self/exe"
