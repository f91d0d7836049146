package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// median returns the median of xs.
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

const (
	// shortSlice is the duration of one measurement of a way, in turn: the fastest of many short slices counts, since
	// the machine has other load.
	shortSlice  = 20 * time.Millisecond
	shortSlices = 8 // per round
)

// quickest returns the time of a call in each way, in the fastest of many short slices.
func quickest(o options, ways []func() error) ([]time.Duration, error) {
	best := make([]time.Duration, len(ways))
	for range shortSlices * o.rounds {
		for i, call := range ways {
			rate, err := rateOf(min(shortSlice, o.slice), call)
			if err != nil {
				return best, err
			}
			if took := time.Duration(1e9 / rate); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	return best, nil
}

// sustained returns the mean time of a call in each way over all rounds, one round of each in turn: the throughput of a
// long-running server, with garbage collection included.
func sustained(o options, ways []func() error) ([]time.Duration, error) {
	took := make([]time.Duration, len(ways))
	for range o.rounds {
		for i, call := range ways {
			runtime.GC()
			rate, err := rateOf(o.slice, call)
			if err != nil {
				return took, err
			}
			took[i] += time.Duration(1e9 / rate)
		}
	}
	for i := range took {
		took[i] /= time.Duration(o.rounds)
	}
	return took, nil
}

// rateOf returns the calls per second in a slice of time.
func rateOf(slice time.Duration, call func() error) (float64, error) {
	n, begin := 0, time.Now()
	for ; n == 0 || time.Since(begin) < slice; n++ {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// spread formats the minimum and maximum of xs, as a note.
func spread(xs []float64) string {
	if len(xs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g to %.3g in %d rounds", slices.Min(xs), slices.Max(xs), len(xs))
}
