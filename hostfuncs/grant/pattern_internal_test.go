package grant

import "testing"

// spells equals match for each pair of a host and a literal host.
func TestPattern_spells(t *testing.T) {
	hosts := []string{"127.0.0.1", "127.0.0.10", "::1", "127", "0.0.1"}
	for next := []string{"a", "b", "."}; len(next[0]) < 6; {
		hosts = append(hosts, next...)
		var longer []string
		for _, h := range next {
			longer = append(longer, h+"a", h+"b", h+".")
		}
		next = longer
	}
	equal := 0
	for _, line := range hosts {
		p := literals(hostSteps(line))
		for _, host := range hosts {
			got, want := p.spells(host), p.match(subject{steps: hostSteps(host)})
			if got != want || got != (host == line) {
				t.Fatalf("%q spells %q: %v, match says %v", line, host, got, want)
			}
			if got {
				equal++
			}
		}
	}
	if equal != len(hosts) {
		t.Errorf("%d of %d hosts spell themselves", equal, len(hosts))
	}
}
