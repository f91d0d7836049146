package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		failed         bool
	}{
		{"passed", "--- PASS: TestChallenge03_stderr (0.1s)\nPASS\n", " 3  stderr discipline        passed", false},
		{"failed", "--- FAIL: TestChallenge09_binary (0.1s)\n--- PASS: TestChallenge09_text (0s)\nFAIL\n", " 9  binary                   FAILED", true},
		{"skipped is not passed", "--- SKIP: TestChallenge09_binary (0.1s)\nPASS\n", " 9  binary                   skipped", true},
		{"open", "PASS\n", "33  audit trail              open", false},
		{"does not build", "FAIL\n", " 1  exit codes               open", true},
	} {
		var out strings.Builder
		failed, err := table(strings.NewReader(c.in), &out)
		if err != nil || failed != c.failed || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: failed %v, %v\n%s", c.name, failed, err, out.String())
		}
	}
}
