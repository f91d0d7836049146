package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/bench/internal/workload"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// reportCall is a call with twenty records, 1.3 KB of arguments and 2 KB of result.
func reportCall() toolCall {
	arguments, _ := json.Marshal(workload.Example(20)) // of strings and numbers
	return toolCall{"report", string(arguments), "20 sales in 4 regions"}
}

// shaCall digests 64 KiB.
func shaCall() toolCall {
	return toolCall{"sha", `{"seed":7}`, workload.Digest(workload.SHAArgs{Seed: 7})}
}

// request returns the call for a pool.
func (c toolCall) request() runtime.Request {
	return runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"` + c.tool + `","arguments":` + c.arguments + `}`)}
}

// coldDialect is a dialect whose guests have no warm-up of their own.
type coldDialect struct {
	runtime.Dialect
	request runtime.Request
}

var _ runtime.Warmer = coldDialect{}

// WarmUp returns the request of the dialect.
func (d coldDialect) WarmUp() runtime.Request { return d.request }

// benchReport calls a tool that decodes, groups, sorts and encodes: in clean instances, with and without the guest's
// warm-up, and in one instance that is kept.
func benchReport(ctx context.Context, o options, engine *runtime.Engine) ([]row, error) {
	wasm, err := os.ReadFile(guestFile("tools"))
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	request := reportCall().request()
	warm := native.New()
	cold := coldDialect{warm, runtime.Request{Method: "plugin/describe"}}
	pools := []*gatedPool{
		newGatedPool(gates, module, warm, &runtime.PoolOptions{State: runtime.StatePlugin}),
		newGatedPool(gates, module, warm, &runtime.PoolOptions{}),
		newGatedPool(gates, module, cold, &runtime.PoolOptions{}),
	}
	took := make([][]float64, len(pools)) // µs
	for range shortSlices * o.rounds {
		for i, p := range pools {
			rate, err := rateOf(min(shortSlice, o.slice), func() error { return p.call(ctx, request) })
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], float64(time.Second.Microseconds())/rate)
		}
	}
	for _, p := range pools {
		err = errors.Join(err, p.Close(ctx))
	}
	over := func(name string, i int, note string) row {
		all := ratios(took[i], took[0])
		return row{Name: name, Value: median(all), Unit: "ratio",
			note: fmt.Sprintf("%s: %.0f µs against %.0f µs, %s", note, median(took[i]), median(took[0]), spread(all))}
	}
	return []row{
		over("clean_over_reused_report", 1, "a tool that decodes, groups, sorts and encodes"),
		over("clean_over_reused_report_cold", 2, "the same without its warm-up"),
	}, errors.Join(err, module.Close())
}
