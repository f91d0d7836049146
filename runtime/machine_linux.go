package runtime

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// machineMemory returns the memory of this machine, or of the control group of this process, in bytes; 0 if unknown.
func machineMemory() uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	_, after, _ := strings.Cut(string(text), "MemTotal:")
	var kib uint64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0
	}
	text, _ = os.ReadFile("/sys/fs/cgroup/memory.max")
	if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
		return min(kib<<10, limit)
	}
	return kib << 10
}
