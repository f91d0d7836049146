// Strict runs go test and also fails if a test is skipped or no test ran. It prints the output of go test, each skipped
// test with the reason, and each test that took five seconds or more.
//
//	go run ./cmd/strict ./...
//
// Skips are failures on Linux, where every test of this project runs. Other systems lack links, modes or programs, and
// there skips are only printed.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

func main() {
	c := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(2)
	}
	verdict := report(out, os.Stdout, options{strict: runtime.GOOS == "linux", verbose: slices.Contains(os.Args, "-v")})
	if err := cmp.Or(c.Wait(), verdict); err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
}

// options configures the report.
type options struct {
	strict  bool // a skip is a failure
	verbose bool // print the output of passing tests too
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

// slow is the time in seconds from which on a passing test is printed.
const slow = 5

// report prints the events of a run, and returns an error if tests were skipped or none ran.
func report(in io.Reader, out io.Writer, o options) error {
	ran, skipped := 0, 0
	said := map[string]string{} // the output of running tests
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil { // a failed build, before go 1.24
			fmt.Fprintln(out, lines.Text())
			continue
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				fmt.Fprint(out, e.Output)
			} else {
				said[name] += e.Output
			}
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Test != "" {
			ran++
			skipped += end(e, said[name], out, o.verbose)
			delete(said, name)
		}
	}
	for name, text := range said { // a package that ended before its tests
		fmt.Fprintf(out, "did not end: %s\n%s", name, text)
	}
	switch {
	case lines.Err() != nil:
		return lines.Err()
	case ran == 0:
		return fmt.Errorf("no test ran")
	case skipped > 0 && o.strict:
		return fmt.Errorf("%d tests were skipped, and a skip is a failure", skipped)
	}
	return nil
}

// end prints a failed or skipped test, and returns 1 for a skipped one.
func end(e event, said string, out io.Writer, verbose bool) (skipped int) {
	switch e.Action {
	case "pass":
		switch {
		case verbose:
			fmt.Fprint(out, said)
		case e.Elapsed >= slow:
			fmt.Fprintf(out, "slow: %s %s %.1f s\n", e.Package, e.Test, e.Elapsed)
		}
	case "fail":
		fmt.Fprint(out, said)
	case "skip":
		fmt.Fprintf(out, "skipped: %s %s\n%s", e.Package, e.Test, strings.TrimPrefix(said, "=== RUN   "+e.Test+"\n"))
		return 1
	}
	return 0
}
