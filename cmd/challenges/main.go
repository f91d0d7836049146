// Challenges reads the output of go test -v and prints a line for each of the 33 guarantees that the host gives a
// plugin: passed, failed or missing, and what a failed test said. It fails unless a test holds each of them.
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
	"strings"
)

// names returns the guarantees, in order.
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

// result matches the outcome of a test in the output of go test -v.
var result = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): TestChallenge(\d\d)_`)

// table prints the table, and reports whether any guarantee failed.
func table(in io.Reader, out io.Writer) (failed bool, err error) {
	outcome := map[int]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var said []string // since the last test that ended
	for lines.Scan() {
		said = append(said, lines.Text())
		m := result.FindStringSubmatch(lines.Text())
		if m == nil {
			failed = failed || lines.Text() == "FAIL"
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if outcome[n] != "FAIL" { // one failure of several tests is a failure
			outcome[n] = m[1]
		}
		if m[1] == "FAIL" {
			fmt.Fprintln(out, strings.Join(said, "\n"))
		}
		said = nil
	}
	passed := 0
	for i, name := range names() {
		word, bad := verdict(outcome[i+1])
		if word == "passed" {
			passed++
		}
		failed = failed || bad
		fmt.Fprintf(out, "%2d  %-24s %s\n", i+1, name, word)
	}
	fmt.Fprintf(out, "%d of %d\n", passed, len(names()))
	return failed, lines.Err()
}

// verdict returns the word for one guarantee, from the outcome of its tests.
func verdict(outcome string) (word string, bad bool) {
	switch outcome {
	case "":
		return "MISSING: no test holds it", true
	case "PASS":
		return "passed", false
	}
	return map[string]string{"FAIL": "FAILED", "SKIP": "SKIPPED"}[outcome], true
}
