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

// wrappedTools are the tool files of gojq, by the name of the plugin: it starts for each call, or once for all, up to its
// input or, with the filter as an argument of the caller, up to its main function.
var wrappedTools = map[string]string{
	"gojq":     `properties: {text: {type: string}}}, args: [-c, -R, --, "{{text: ., n: length}}"]`,
	"gojqonce": `properties: {text: {type: string}}}, args: [-c, -R, --, "{{text: ., n: length}}"], start: once`,
	"gojqargs": `properties: {text: {type: string}, filter: {type: string}}}, args: [-c, -R, --, "{filter}"], start: once`,
}

// nativeProgram is the same program, built for this machine.
var nativeProgram = filepath.Join("build", "bench", "gojq", "gojq")

// buildWrapped builds gojq natively and as a plugin of each kind.
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
	for name, tool := range wrappedTools {
		file := guestFile(name)
		text := fmt.Sprintf("tools: [{name: %s, stdin: \"{text}\", inputSchema: {type: object, %s}]\n", peerTool, tool)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, wasm, 0o644),
			os.WriteFile(strings.TrimSuffix(file, ".wasm")+".tool.yaml", []byte(text), 0o644))
	}
	return err
}

// benchWrapped compares a program as a plugin, called over stdio with a clean instance for each call, with a process of
// its native build for each call.
func benchWrapped(ctx context.Context, o options) ([]row, error) {
	if err := buildWrapped(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for plugin, name := range map[string]string{"gojq": "gojq_wrapped", "gojqonce": "gojq_wrapped_once", "gojqargs": "gojq_wrapped_args"} {
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
	call := s.call()
	if name == "gojqargs" {
		call.arguments = fmt.Sprintf(`{"text":%q,"filter":%q}`, payload(s.size), wrappedFilter)
	}
	p, err := launch(ctx, name, s.transport)
	if err != nil {
		return r, err
	}
	defer p.stop()
	if err := p.measure(call, s.inFlight, o.slice, &measured{}); err != nil { // warm
		return r, err
	}
	plugin, processes := &measured{}, []float64{}
	for range o.rounds {
		if err := p.measure(call, s.inFlight, o.slice, plugin); err != nil {
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
