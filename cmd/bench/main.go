// Bench compares the host with other servers and libraries in one run, and prints one table.
//
//	go run ./cmd/bench [-o build/bench.json] [-run REGEXP] [-quick]
//
// Servers run as separate processes (this program with a role), and are measured in turn, A B A B, so that a drift of
// the machine affects all alike. A ratio is the median of the ratios of the rounds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/heap"
)

// row is one number of the table.
type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	note  string  // shown in the table only; beside hides the row
}

// beside is the note of a row that is saved but not printed, since another row's note contains it.
const beside = "\x00"

// suite is one group of measurements.
type suite struct {
	name string
	run  func(context.Context, options) ([]row, error)
}

// options apply to every suite.
type options struct {
	rounds int           // measurements of each server, in turn
	calls  int           // calls of one round
	slice  time.Duration // duration of one round, where a rate is measured
	quick  bool          // shorter waits and fewer plugins too
}

func suites() []suite {
	return []suite{
		{"stdio", benchStdio}, {"extism", benchExtism}, {"instances", benchInstances}, {"tools", benchTools}, {"languages", benchLanguages}, {"peers", benchPeers}, {"startup", benchStartup}, {"firstcall", benchFirstCall}, {"fifty", benchFifty}, {"cores", benchCores},
		{"metering", benchMetering}, {"files", benchFiles}, {"gate", benchGate}, {"auth", benchAuth}, {"questions", benchQuestions}, {"stores", benchStores}, {"scale", benchScale}, {"fairness", benchFairness},
		{"wrapped", benchWrapped}, {"servers", benchServers}, {"idle", benchIdleServers}, {"github", benchGitHub},
	}
}

func main() {
	heap.CollectAsUsual() // as the host does
	if len(os.Args) > 2 && os.Args[1] == "role" {
		fail(serveRole(os.Args[2:]))
		return
	}
	out := flag.String("o", "", "write the numbers to this `file` as JSON")
	only := flag.String("run", "", "measure only the suites that match this `regexp`")
	quick := flag.Bool("quick", false, "a tenth of the calls, to see that it works")
	flag.Parse()
	fail(bench(*out, *only, *quick))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func bench(out, only string, quick bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	o := options{rounds: 7, calls: 20_000, slice: peerSlice}
	if quick {
		o = options{rounds: 3, calls: 2_000, slice: quickSlice, quick: true}
	}
	var rows []row
	for _, s := range suites() {
		if !match.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", s.name)
		more, err := s.run(context.Background(), o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rows = append(rows, more...)
	}
	if err := print(rows); err != nil {
		return err
	}
	if out != "" {
		if err := save(out, rows); err != nil {
			return err
		}
	}
	if only == "" {
		return unmeasured(rows)
	}
	return nil
}

func print(rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if r.note == beside && r.goal() == "" {
			continue
		}
		fmt.Fprintf(w, "%s\t%.3g\t%s\t%s\t%s\n", r.Name, r.Value, r.Unit, r.goal(), strings.TrimPrefix(r.note, beside))
	}
	return w.Flush()
}

func save(file string, rows []row) error {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
