package grant

import "testing"

func TestFormatSize_usesTheLargestUnitThatDividesIt(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1: "1B", 1025: "1025B", 1 << 10: "1KiB", 3 << 20: "3MiB", 1 << 30: "1GiB", 1<<30 + 1<<10: "1048577KiB"} {
		got := FormatSize(n)
		if got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
		if back, err := ParseSize(got); n > 0 && (back != n || err != nil) {
			t.Errorf("%s: got %d, %v, want %d again", got, back, err, n)
		}
	}
}
