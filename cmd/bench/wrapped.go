package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// wrappedFilter is the program that gojq runs on the text of each call.
const wrappedFilter = "{text: ., n: length}"

// wrappedTools makes the tool of every server here of gojq.
const wrappedTools = `tools:
  - name: ` + peerTool + `
    inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}
    args: [-c, -R, --, "{{text: ., n: length}}"]
    stdin: "{text}"
`

// nativeProgram is the same program, built for this machine.
var nativeProgram = filepath.Join("build", "bench", "gojq", "gojq")

// buildWrapped builds gojq as a plugin and natively.
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
	return os.WriteFile(strings.TrimSuffix(plugin, ".wasm")+".tool.yaml", []byte(wrappedTools), 0o644)
}

// benchWrapped compares a program as a plugin, called over stdio with a clean instance for each call, with a process of
// its native build for each call.
func benchWrapped(ctx context.Context, o options) ([]row, error) {
	if err := buildWrapped(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, inFlight := range []int{1, 16} {
		s := setting{"stdio", inFlight, 1000}
		p, err := launch(ctx, "gojq", s.transport)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if err := p.measure(s.call(), s.inFlight, o.slice, &measured{}); err != nil { // warm
			return nil, err
		}
		plugin, processes := &measured{}, []float64{}
		for range o.rounds {
			if err := p.measure(s.call(), s.inFlight, o.slice, plugin); err != nil {
				return nil, err
			}
			rate, err := execRate(ctx, payload(s.size), inFlight, o.slice)
			if err != nil {
				return nil, err
			}
			processes = append(processes, rate)
		}
		over := ratios(plugin.rates, processes)
		rows = append(rows, row{Name: fmt.Sprintf("gojq_wrapped_over_exec_%d", inFlight), Value: median(over), Unit: "ratio",
			note: fmt.Sprintf("calls per second: %.0f against %.0f, %s", median(plugin.rates), median(processes), spread(over))})
	}
	return rows, nil
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
