//go:build race

package runtime_test

// raceEnabled tells that the race detector watches, which takes many times the memory.
const raceEnabled = true
