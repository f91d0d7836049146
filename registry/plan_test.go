package registry

import "testing"

func TestPlacesOf_countsInWords(t *testing.T) {
	for n, want := range map[int]string{1: "1 host or path", 2: "2 hosts and paths"} {
		if got := placesOf(n); got != want {
			t.Errorf("%d: got %s, want %v", n, got, want)
		}
	}
}
