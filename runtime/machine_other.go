//go:build !linux

package runtime

// machineMemory returns the memory of this machine in bytes; 0 if unknown, as here.
func machineMemory() uint64 { return 0 }
