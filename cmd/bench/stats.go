package main

import (
	"fmt"
	"slices"
)

// median is the middle of xs.
func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, 0, len(a))
	for i := range a {
		out = append(out, a[i]/b[i])
	}
	return out
}

// spread is the least and the most of xs, as a note.
func spread(xs []float64) string {
	if len(xs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g to %.3g in %d rounds", slices.Min(xs), slices.Max(xs), len(xs))
}
