package settings

import (
	"fmt"
	"testing"
)

func TestParseKeep_readsDaysAndBytes(t *testing.T) {
	for text, want := range map[string]string{
		"90d": "2160h0m0s 0", "1GiB": "0s 1073741824", "90d,1MiB": "2160h0m0s 1048576", " 1MiB, 1d ": "24h0m0s 1048576",
		"": "", "0d": "", "d": "", "5": "", "-1d": "", "1d,2d": "", "1GiB,2GiB": "", "forever": "", "40000d": "", "0": "", "1d,": "",
	} {
		age, size, err := ParseKeep(text)
		if got := fmt.Sprint(age, " ", size); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: %s, %v; want %q", text, got, err, want)
		}
	}
}
