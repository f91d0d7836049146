package main

import "testing"

// A rollback is named in each form that authors write versions in.
func TestOlder_comparesVersions(t *testing.T) {
	for _, c := range []struct {
		version, than string
		want          bool
	}{
		{"1.0.0", "1.1.0", true}, {"1.9.0", "1.10.0", true}, {"1.10.0", "1.9.0", false}, {"1.0.0", "1.0.0", false},
		{"v1.1.0", "v1.2.0", true}, {"1.1.0", "v1.2.0", true}, {"v1.2.0", "1.1.0", false},
		{"1.2", "1.2.1", true}, {"1", "1.0.1", true}, {"1.2", "1.2.0", false}, {"1.2.1", "1.2", false}, {"1.2.3.4", "1.2.3.5", true},
		{"1.2.0-rc.1", "1.2.0", true}, {"1.2.0", "1.2.0-rc.1", false}, {"1.2.0-rc.2", "1.2.0-rc.10", true}, {"1.2.0-1", "1.2.0-alpha", true},
		{"1.2.0-alpha", "1.2.0-1", false}, {"1.2.0-alpha", "1.2.0-alpha.1", true}, {"1.2.0-alpha", "1.2.0-beta", true}, {"1.2.0-rc.1", "1.2.0-rc.1", false},
		{"1.2.0+b1", "1.2.0+b2", false}, {"2.0.0", "99999999999999999999.0.0", true}, {"01.1", "1.2", true},
		{"latest", "1.0.0", false}, {"1.0.0", "latest", false}, {"", "1.0.0", false}, {"1..0", "2", false}, {"", "", false},
	} {
		if got := older(c.version, c.than); got != c.want {
			t.Errorf("%q before %q: got %v, want %v", c.version, c.than, got, c.want)
		}
	}
}
