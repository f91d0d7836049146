package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/cases"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func newTest(std stdio) *cobra.Command {
	var file, junit string
	var lines []string
	c := &cobra.Command{
		Use:   "test FILE",
		Short: "run an author's cases for a plugin, with a made-up web, person and clock",
		Long: `Run an author's cases for a plugin. They are in NAME.cases.yaml beside the file, or in the file of --cases:

  grants:
    - net: GET https://api.example.com/**
  web:
    GET https://api.example.com/rate: {json: {rate: 2}}
  cases:
    - call: convert
      with: {amount: 3}
      text: "6"

A case has call, read or prompt, and with for the arguments. It may answer forms (answers: values, decline or cancel),
the client's model (model: texts) and roots, and add to web. It expects text, structured, a part of an error, or a part
of a denied effect; without error and denied the request must succeed.

Nothing is sent to the web. The cases grant no files or secrets of this machine: give a line for those with --grant. The
clock stands at 2026-01-01T00:00:00Z and random numbers are the same each time. Keys stay from one case to the next, and
are gone at the end. All cases run twice: with an instance that was warmed up, as calls usually have it, and with a
newly started one. An answer that differs between the two is a failure.

Exit code 1: a case failed.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			if file == "" {
				file = cases.Beside(args[0])
			}
			outcomes, err := runCases(c.Context(), s, std, args[0], file, lines)
			if err != nil {
				return err
			}
			if junit != "" {
				if err := writeJUnit(junit, args[0], outcomes); err != nil {
					return err
				}
			}
			return printOutcomes(std.out, outcomes)
		},
	}
	c.Flags().StringVar(&file, "cases", "", "`file` of the cases")
	c.Flags().StringArrayVar(&lines, "grant", nil, "allow this `line` too, such as 'fs: read ~/work/**'; repeat the flag for more lines")
	c.Flags().StringVar(&junit, "junit", "", "write the outcomes to this `file` too, in the form of JUnit")
	return c
}

// caseSeed is the seed of the random numbers of cases.
const caseSeed = "cases"

// runCases runs the cases of a file with a plugin, once warmed up and once newly started. The lines are granted beside
// those of the cases.
func runCases(ctx context.Context, s *settings.Settings, std stdio, plugin, file string, lines []string) ([]cases.Outcome, error) {
	f, err := cases.Read(file)
	if errors.Is(err, os.ErrNotExist) {
		if err := checkFile(plugin); err != nil { // then that is why there are no cases beside it
			return nil, err
		}
		return nil, ui.Hint(fmt.Errorf("there are no cases: %s does not exist", file), "write one; sallyport test --help has the form")
	}
	if err != nil {
		return nil, err
	}
	f.Grants = append(f.Grants, lines...)
	std.detach(s)
	outcomes := make([]cases.Outcome, len(f.Cases))
	warm, kept, err := caseRun{plugin: plugin, file: f}.run(ctx, s, std, outcomes)
	if err != nil || kept {
		return outcomes, err
	}
	fresh, _, err := caseRun{plugin: plugin, file: f, state: runtime.StateFresh}.run(ctx, s, std, make([]cases.Outcome, len(f.Cases)))
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		if differ := cases.Same(warm[i], fresh[i]); differ != "" {
			outcomes[i].Problems = append(outcomes[i].Problems, "the answer depends on the warm-up, where the clock and the configuration are not those of the call: warmed up and newly started it is "+differ)
		}
	}
	return outcomes, nil
}

// caseRun is one run of all cases, with keys of its own.
type caseRun struct {
	plugin string
	file   *cases.File
	state  runtime.State
}

// run fills in the outcomes, and returns the results. kept reports that instances serve several calls.
func (r caseRun) run(ctx context.Context, s *settings.Settings, std stdio, outcomes []cases.Outcome) (results []json.RawMessage, kept bool, err error) {
	keys, err := os.MkdirTemp("", "sallyport-test-")
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(keys)) }()
	web := &currentWeb{}
	p := onePlugin{file: r.plugin, grants: r.file.Grants, seed: caseSeed, state: r.state, web: web, keys: keys}
	c, err := p.connect(ctx, s, std)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	c.notices = io.Discard
	for i := range r.file.Cases {
		one := &r.file.Cases[i]
		web.Web = one.Web
		var result json.RawMessage
		outcomes[i].Name = one.Name
		result, outcomes[i].Problems = runCase(ctx, c, one)
		results = append(results, result)
	}
	return results, keepsState(c.host.Registry.Plugins()), ctx.Err()
}

// currentWeb is the made-up web of the case that runs.
type currentWeb struct{ cases.Web }

var _ http.RoundTripper = (*currentWeb)(nil)

// keepsState reports whether instances of a plugin serve several calls.
func keepsState(plugins []registry.Status) bool {
	return slices.ContainsFunc(plugins, func(p registry.Status) bool { return p.Keeps != "" })
}

// runCase runs one case.
func runCase(ctx context.Context, c *localClient, one *cases.Case) (result json.RawMessage, problems []string) {
	script := one.Script()
	r, err := c.request(ctx, one.Method, requestParams(one.Params(), cases.Capabilities), func(_ context.Context, result json.RawMessage) (answers, bool, error) {
		return scripted(script, result)
	})
	if err != nil {
		return nil, []string{err.Error()}
	}
	failed := ""
	if r.Err != nil {
		failed = r.Err.Message
		result = jsonraw.AppendString(nil, failed)
	} else {
		result = jsonraw.Get(r.Body, "result")
	}
	problems = one.Check(result, failed)
	if n := script.Left(); n > 0 {
		problems = append(problems, fmt.Sprintf("got %s fewer than the case has", ui.Count(n, "question")))
	}
	return result, problems
}

// scripted answers the questions of a result from a script.
func scripted(script *cases.Script, result json.RawMessage) (a answers, asked bool, err error) {
	if kind, _ := jsonraw.String(jsonraw.Get(result, "resultType")); kind != "input_required" {
		return a, false, nil
	}
	questions, err := jsonraw.ParseObject(jsonraw.Get(result, "inputRequests"))
	if err != nil {
		return a, true, err
	}
	a.state = jsonraw.Get(result, "requestState")
	for _, q := range questions {
		method, _ := jsonraw.String(jsonraw.Get(q.Value, "method"))
		answer, err := script.Answer(method, jsonraw.Get(q.Value, "params"))
		if err != nil {
			return a, true, err
		}
		a.responses.Set(q.Key, answer)
	}
	return a, true, nil
}

func writeJUnit(path, plugin string, outcomes []cases.Outcome) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(cases.WriteJUnit(f, filepath.Base(plugin), outcomes), f.Close())
}

// printOutcomes prints a line for each case, and those of its problems. Failures are exit code 1.
func printOutcomes(w io.Writer, outcomes []cases.Outcome) error {
	failed := 0
	for _, o := range outcomes {
		mark := "ok  "
		if len(o.Problems) > 0 {
			mark = "FAIL"
			failed++
		}
		fmt.Fprintf(w, "%s %s\n", mark, ui.Line(o.Name))
		for _, p := range o.Problems {
			fmt.Fprintf(w, "     %s\n", ui.Line(p))
		}
	}
	if failed == 0 {
		_, err := fmt.Fprintf(w, "%s passed\n", ui.Count(len(outcomes), "case"))
		return err
	}
	fmt.Fprintf(w, "%d of %s failed\n", failed, ui.Count(len(outcomes), "case"))
	return exitCode(exitTool)
}
