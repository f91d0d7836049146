//go:build !race

package runtime_test

// raceEnabled reports whether the race detector is on, which takes many times the memory.
const raceEnabled = false
