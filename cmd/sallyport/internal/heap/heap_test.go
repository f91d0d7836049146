package heap

import (
	"runtime/debug"
	"testing"
)

// Garbage is collected later while the program starts, and as usual afterwards. An operator's own setting stays.
func TestDelayCollection_endsWithTheStart(t *testing.T) {
	before := debug.SetGCPercent(usualGC)
	defer debug.SetGCPercent(before)
	for setting, want := range map[string]int{"": startGC, "70": 70} {
		now := usualGC
		if setting != "" {
			now = want
		}
		t.Setenv("GOGC", setting)
		debug.SetGCPercent(now)
		end := DelayCollection()
		if got := debug.SetGCPercent(want); got != want {
			t.Errorf("GOGC=%s, at the start: got %d per cent, want %d", setting, got, want)
		}
		end()
		if got := debug.SetGCPercent(now); got != now {
			t.Errorf("GOGC=%s, after the start: got %d per cent, want %d", setting, got, now)
		}
	}
}
