package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/extism"
)

// keptSDK is the echo plugin in Extism's own host: one instance, one call at a time.
type keptSDK struct {
	mu     sync.Mutex
	plugin *sdk.Plugin
}

func newKeptSDK(ctx context.Context) (*keptSDK, error) {
	wasm, err := os.ReadFile(guestFile("extism"))
	if err != nil {
		return nil, err
	}
	p, err := sdk.NewPlugin(ctx, sdk.Manifest{Wasm: []sdk.Wasm{sdk.WasmData{Data: wasm}}},
		sdk.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig()}, nil)
	return &keptSDK{plugin: p}, err
}

// call serves the params of a tools/call.
func (k *keptSDK) call(params []byte) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, out, err := k.plugin.Call("call", append(append([]byte(`{"params":`), params...), '}'))
	return out, err
}

// answer serves one message: the least that a server around the SDK can do.
func (k *keptSDK) answer(message []byte) []byte {
	m, err := jsonrpc.Parse(message)
	if err != nil || m.ID == nil {
		return nil
	}
	if m.Method != "tools/call" {
		return jsonrpc.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"extism","version":"0"}}`))
	}
	out, err := k.call(m.Params)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return jsonrpc.AppendResult(nil, m.ID, out)
}

func peerExtismSDK(l net.Listener, ready func()) error {
	k, err := newKeptSDK(context.Background())
	if err != nil {
		return err
	}
	if l == nil {
		ready()
		return lines(os.Stdin, os.Stdout, k.answer)
	}
	return serveHandler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if a := k.answer(body); a != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(a) // the client has gone
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}), ready)
}

// benchKept compares the Extism dialect with Extism's own host, both in this process and with no wire:
// one instance that is kept, and what a pool does for each call.
func benchKept(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	theirs, err := newKeptSDK(ctx)
	if err != nil {
		return nil, err
	}
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(guestFile("extism"))
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	params := []byte(`{"name":"echo","arguments":{"text":"` + payload(100) + `"}}`)
	request := runtime.Request{Method: "tools/call", Params: params, Session: "one"}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	policy := gates.Plugin(hostfuncs.Plugin{Name: "echo"})
	start := func() (runtime.Gate, func()) { g := policy.StartGate(); return g, g.Close }
	through := func(p *runtime.Pool) func() error {
		return func() error {
			g := policy.NewGate(hostfuncs.Call{ID: "bench", Method: request.Method})
			defer g.Close()
			_, err := p.Call(ctx, request, g)
			return err
		}
	}
	kept := runtime.NewPool(module, extism.New(), &runtime.PoolOptions{State: runtime.StateSession, Start: start})
	clean := runtime.NewPool(module, extism.New(), &runtime.PoolOptions{Start: start})
	ways := []struct {
		name string
		call func() error
	}{
		{"sdk", func() error { _, err := theirs.call(params); return err }},
		{"kept", through(kept)},
		{"clean", through(clean)},
	}
	rates := map[string][]float64{}
	for range o.rounds {
		for _, w := range ways {
			rate, err := rateOf(o.slice, w.call)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			rates[w.name] = append(rates[w.name], rate)
		}
	}
	over, pooled := ratios(rates["kept"], rates["sdk"]), ratios(rates["clean"], rates["sdk"])
	return []row{
		{Name: "extism_kept_over_sdk", Value: median(over), Unit: "ratio", note: "calls a second, 100 B; " + spread(over)},
		{Name: "extism_clean_over_sdk", Value: median(pooled), Unit: "ratio", note: "a clean instance for each call; " + spread(pooled)},
		{Name: "extism_sdk_calls", Value: median(rates["sdk"]), Unit: "calls/s", note: spread(rates["sdk"])},
		{Name: "extism_kept_calls", Value: median(rates["kept"]), Unit: "calls/s", note: spread(rates["kept"])},
		{Name: "extism_clean_calls", Value: median(rates["clean"]), Unit: "calls/s", note: spread(rates["clean"])},
	}, errors.Join(kept.Close(ctx), clean.Close(ctx), engine.Close(ctx))
}

// rateOf is how many calls a second there are in a slice of time.
func rateOf(slice time.Duration, call func() error) (float64, error) {
	n, begin := 0, time.Now()
	for ; n == 0 || time.Since(begin) < slice; n++ {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
