package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// benchFirstCall measures the start of servers over stdio: from the launch to the answer to the first call, and the first
// call alone, which is sent as soon as the tools are listed. The host starts without any state, and with that of a
// former run. A model takes longer to choose a tool than the host to load the most used one: it is also measured after
// modelTime.
func benchFirstCall(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	var rows []row
	starts := map[string][]float64{}
	calls := map[string][]float64{}
	for range o.rounds {
		for _, s := range toolServers() {
			switch s.name {
			case "go", "rust", "extism":
				if err := os.RemoveAll(filepath.Join(hostFolder(s.name), "state")); err != nil {
					return nil, err
				}
				if err := timeFirstCall(ctx, s, s.name+"_cold", 0, starts, calls); err != nil {
					return nil, err
				}
				if err := timeFirstCall(ctx, s, s.name+"_chosen", modelTime, starts, calls); err != nil {
					return nil, err
				}
				fallthrough
			case "gosdk", "mcpgo", "node":
				if err := timeFirstCall(ctx, s, s.name, 0, starts, calls); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, s := range toolServers() {
		for _, way := range []struct{ label, key string }{{"cold", s.name + "_cold"}, {"warm", s.name}, {"chosen", s.name + "_chosen"}} {
			if all := calls[way.key]; all != nil {
				after := "right after the list"
				if way.label == "chosen" {
					after = fmt.Sprintf("%s after the list", modelTime)
				}
				rows = append(rows, row{Name: "first_call_" + way.label + "_" + s.name + "_ms", Value: median(all), Unit: "ms",
					note: fmt.Sprintf("report, %s; from the launch to its answer %.4g ms; %s", after, median(starts[way.key]), spread(all))})
			}
		}
	}
	return rows, nil
}

// modelTime is less than any model takes to read the tools and to name one.
const modelTime = 250 * time.Millisecond

// timeFirstCall starts a server and adds its times in milliseconds. The call is sent some time after the list.
func timeFirstCall(ctx context.Context, s toolServer, key string, after time.Duration, starts, calls map[string][]float64) error {
	begin := time.Now()
	p, err := s.start(ctx, "stdio")
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	defer p.stop()
	wire := p.wire.(*pipe)
	if _, err := wire.ask("tools/list"); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	time.Sleep(after)
	listed := time.Now()
	if err := wire.once(reportCall()); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	starts[key] = append(starts[key], milliseconds(time.Since(begin)))
	calls[key] = append(calls[key], milliseconds(time.Since(listed)))
	return nil
}
