package sanitize

import "testing"

// suspectJSON finds the same texts as a test of each byte.
func TestSuspectJSON_eachByteAtEachPlace(t *testing.T) {
	slow := func(raw []byte) bool {
		for i, c := range raw {
			if c >= 0x7f || c == '\\' && i+1 < len(raw) && (raw[i+1] == 'u' || raw[i+1] == 'b' || raw[i+1] == 'f') {
				return true
			}
		}
		return false
	}
	for size := range 70 {
		for at := range size {
			for c := range 256 {
				for _, next := range []byte("auf\\\"") {
					raw := make([]byte, size)
					for i := range raw {
						raw[i] = "a\"\n"[i%3]
					}
					raw[at] = byte(c)
					if at+1 < size {
						raw[at+1] = next
					}
					if got, want := suspectJSON(raw), slow(raw); got != want {
						t.Fatalf("%q: got %v, want %v", raw, got, want)
					}
				}
			}
		}
	}
}
