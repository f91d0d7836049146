package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestReport_failsOnASkip(t *testing.T) {
	ok := []event{{"run", "p", "TestA", "", 0}, {"output", "p", "TestA", "of A\n", 0}, {"pass", "p", "TestA", "", 0}, {"output", "p", "", "ok  \tp\t0.1s\n", 0}, {"pass", "p", "", "", 0}}
	skip := append([]event{{"output", "p", "TestS", "    s_test.go:1: no such program\n", 0}, {"skip", "p", "TestS", "", 0}}, ok...)
	for name, c := range map[string]struct {
		events []event
		strict bool
		out    string
		err    string
	}{
		"passes":               {ok, true, "ok  \tp\t0.1s\n", "<nil>"},
		"a skip":               {skip, true, "skipped: p TestS\n    s_test.go:1: no such program\nok  \tp\t0.1s\n", "1 tests were skipped, and a skip is a failure"},
		"a skip elsewhere":     {skip, false, "skipped: p TestS\n    s_test.go:1: no such program\nok  \tp\t0.1s\n", "<nil>"},
		"a package is no skip": {append([]event{{"skip", "none", "", "", 0}}, ok...), true, "ok  \tp\t0.1s\n", "<nil>"},
		"nothing ran":          {[]event{{"output", "p", "", "ok  \tp\t0.1s [no tests to run]\n", 0}, {"pass", "p", "", "", 0}}, true, "ok  \tp\t0.1s [no tests to run]\n", "no test ran"},
		"a slow test":          {[]event{{"pass", "p", "TestA", "", 4.99}, {"pass", "p", "TestB", "", 5}}, true, "slow: p TestB 5.0 s\n", "<nil>"},
		"a failure":            {[]event{{"output", "p", "TestF", "why\n", 0}, {"fail", "p", "TestF", "", 0}}, true, "why\n", "<nil>"}, // reported by the exit code of go test
		"a death":              {[]event{{"pass", "p", "TestA", "", 0}, {"output", "p", "TestD", "panic\n", 0}, {"output", "p", "", "FAIL\n", 0}}, true, "FAIL\ndid not end: p TestD\npanic\n", "<nil>"},
	} {
		var in, out bytes.Buffer
		for _, e := range c.events {
			if err := json.NewEncoder(&in).Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		err := report(&in, &out, options{strict: c.strict, verbose: name == "verbose"})
		if fmt.Sprint(err) != c.err || out.String() != c.out {
			t.Errorf("%s: %v and\n%swant %s and\n%s", name, err, out.String(), c.err, c.out)
		}
	}
	var out bytes.Buffer
	if err := report(strings.NewReader("# p\nbroken.go:1:1\n"), &out, options{strict: true}); err == nil || out.String() != "# p\nbroken.go:1:1\n" {
		t.Errorf("a build that fails: %v, %q", err, out.String())
	}
}
