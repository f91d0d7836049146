package main

import (
	"fmt"
	"strings"
	"testing"
)

// all returns the output of a run in which every guarantee passes, except without, followed by more.
func all(without int, more string) string {
	var b strings.Builder
	for i := range names() {
		if i+1 != without {
			fmt.Fprintf(&b, "--- PASS: TestChallenge%02d_x (0.1s)\n", i+1)
		}
	}
	return b.String() + more
}

func TestTable_hasARowForEachChallenge(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		failed         bool
	}{
		{"passed", all(0, "PASS\n"), " 3  stderr discipline        passed\n", false},
		{"failed", all(9, "--- FAIL: TestChallenge09_binary (0.1s)\n--- PASS: TestChallenge09_text (0s)\nFAIL\n"), " 9  binary                   FAILED\n", true},
		{"says why", all(9, "--- PASS: TestChallenge09_text (0s)\n=== RUN\n    x_test.go:7: got 1, want 2\n--- FAIL: TestChallenge09_binary (0.1s)\nFAIL\n"),
			"=== RUN\n    x_test.go:7: got 1, want 2\n--- FAIL: TestChallenge09_binary (0.1s)\n 1  exit codes", true},
		{"skipped", all(9, "--- SKIP: TestChallenge09_binary (0.1s)\nPASS\n"), " 9  binary                   SKIPPED\n", true},
		{"all passed", all(0, "PASS\n"), "33 of 33\n", false},
		{"missing", all(33, "PASS\n"), "33  audit trail              MISSING: no test holds it\n", true},
		{"does not build", "FAIL\n", " 2  output format            MISSING: no test holds it\n", true},
		{"a test beside them fails", all(0, "FAIL\n"), "33 of 33\n", true},
	} {
		var out strings.Builder
		failed, err := table(strings.NewReader(c.in), &out)
		if err != nil || failed != c.failed || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: failed %v, %v\n%s", c.name, failed, err, out.String())
		}
	}
}
