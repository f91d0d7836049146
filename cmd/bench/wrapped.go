package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// wrappedFilter is the program that gojq runs on the text of each call.
const wrappedFilter = "{text: ., n: length}"

// wrappedTools makes the tool of every server here of gojq, and wrappedOnce adds that it starts once for all calls.
const (
	wrappedTools = `tools:
  - name: ` + peerTool + `
    inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}
    args: [-c, -R, --, "{{text: ., n: length}}"]
    stdin: "{text}"
`
	wrappedOnce = "    start: once\n"
)

// nativeProgram is the same program, built for this machine.
var nativeProgram = filepath.Join("build", "bench", "gojq", "gojq")

// buildWrapped builds gojq natively and as two plugins, which start for each call and once.
func buildWrapped(ctx context.Context) error {
	plugin := guestFile("gojq")
	for out, env := range map[string][]string{plugin: {"GOOS=wasip1", "GOARCH=wasm"}, nativeProgram: nil} {
		path, err := filepath.Abs(out)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/itchyny/gojq/cmd/gojq")
		cmd.Dir, cmd.Env = filepath.Join("plugins", "gojq"), append(append(os.Environ(), "GOWORK=off"), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("gojq: %w\n%s", err, text)
		}
	}
	wasm, err := os.ReadFile(plugin)
	if err != nil {
		return err
	}
	once := guestFile("gojqonce")
	return errors.Join(os.MkdirAll(filepath.Dir(once), 0o755), os.WriteFile(once, wasm, 0o644),
		os.WriteFile(strings.TrimSuffix(plugin, ".wasm")+".tool.yaml", []byte(wrappedTools), 0o644),
		os.WriteFile(strings.TrimSuffix(once, ".wasm")+".tool.yaml", []byte(wrappedTools+wrappedOnce), 0o644))
}

// benchWrapped compares a program as a plugin, called over stdio with a clean instance for each call, with a process of
// its native build for each call.
func benchWrapped(ctx context.Context, o options) ([]row, error) {
	if err := buildWrapped(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for plugin, name := range map[string]string{"gojq": "gojq_wrapped", "gojqonce": "gojq_wrapped_once"} {
		for _, inFlight := range []int{1, 16} {
			r, err := benchPlugin(ctx, o, plugin, inFlight)
			if err != nil {
				return nil, err
			}
			r.Name = fmt.Sprintf("%s_over_exec_%d", name, inFlight)
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	return rows, nil
}

// benchPlugin returns the ratio of the calls of a plugin to the processes in the same time, in turns.
func benchPlugin(ctx context.Context, o options, name string, inFlight int) (r row, err error) {
	s := setting{"stdio", inFlight, 1000}
	p, err := launch(ctx, name, s.transport)
	if err != nil {
		return r, err
	}
	defer p.stop()
	if err := p.measure(s.call(), s.inFlight, o.slice, &measured{}); err != nil { // warm
		return r, err
	}
	plugin, processes := &measured{}, []float64{}
	for range o.rounds {
		if err := p.measure(s.call(), s.inFlight, o.slice, plugin); err != nil {
			return r, err
		}
		rate, err := execRate(ctx, payload(s.size), inFlight, o.slice)
		if err != nil {
			return r, err
		}
		processes = append(processes, rate)
	}
	over := ratios(plugin.rates, processes)
	return row{Value: median(over), Unit: "ratio",
		note: fmt.Sprintf("calls per second: %.0f against %.0f, %s", median(plugin.rates), median(processes), spread(over))}, nil
}

// execRate runs the native program for the duration of slice, with inFlight processes at a time, checks each output,
// and returns the runs per second.
func execRate(ctx context.Context, text string, inFlight int, slice time.Duration) (float64, error) {
	want := fmt.Sprintf("{\"n\":%d,\"text\":\"%s\"}\n", len(text), text)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		runs  int
		first error
	)
	begin := time.Now()
	for range inFlight {
		wg.Go(func() {
			for end := begin.Add(slice); time.Now().Before(end); {
				err := execOnce(ctx, text, want)
				mu.Lock()
				runs++
				if first == nil {
					first = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(runs) / time.Since(begin).Seconds(), first
}

func execOnce(ctx context.Context, text, want string) error {
	cmd := exec.CommandContext(ctx, nativeProgram, "-c", "-R", "--", wrappedFilter)
	cmd.Stdin = strings.NewReader(text)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return err
	}
	if out.String() != want {
		return fmt.Errorf("unexpected output: %.200s", &out)
	}
	return nil
}
