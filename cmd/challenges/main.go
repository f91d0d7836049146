// Challenges reads the output of go test -v and prints a line for each of the 33 promises that a
// plugin gets from its host: passed, failed, or open where no test holds it yet.
//
//	go test ./cmd/sallyport -run TestChallenge -count=1 -v | go run ./cmd/challenges
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

// names are the promises, in their order.
func names() []string {
	return []string{
		"exit codes", "output format", "stderr discipline", "verbosity", "large output", "composition",
		"non-determinism", "ANSI", "binary", "interactivity", "hanging", "safe retries", "atomicity",
		"validation first", "concurrency", "cancellation", "child processes", "error quality", "retry hints",
		"dependencies", "discoverability", "schema versions", "destructive operations", "secrets",
		"prompt injection", "sessions", "portability", "config precedence", "working directory",
		"undeclared side effects", "proxies", "self-update", "audit trail",
	}
}

func main() {
	failed, err := table(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "challenges: %v\n", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// result is what go test -v prints of one promise.
var result = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): TestChallenge(\d\d)_`)

// table prints the table, and reports whether anything failed.
func table(in io.Reader, out io.Writer) (failed bool, err error) {
	outcome := map[int]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := result.FindStringSubmatch(lines.Text())
		if m == nil {
			failed = failed || lines.Text() == "FAIL"
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if outcome[n] != "FAIL" { // one failure of several tests is a failure
			outcome[n] = m[1]
		}
	}
	passed := 0
	for i, name := range names() {
		word := map[string]string{"PASS": "passed", "FAIL": "FAILED", "SKIP": "skipped"}[outcome[i+1]]
		if word == "" {
			word = "open"
		}
		if word == "passed" {
			passed++
		}
		failed = failed || word == "FAILED" || word == "skipped"
		fmt.Fprintf(out, "%2d  %-24s %s\n", i+1, name, word)
	}
	fmt.Fprintf(out, "%d of %d\n", passed, len(names()))
	return failed, lines.Err()
}
