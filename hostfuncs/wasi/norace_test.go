//go:build !race

package wasi_test

// raceEnabled tells tests that take minutes under the race detector.
const raceEnabled = false
