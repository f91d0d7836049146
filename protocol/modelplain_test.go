//go:build !race

package protocol_test

// modelUsual is how many schedules the model test runs unless a flag says so.
const modelUsual = 1000
