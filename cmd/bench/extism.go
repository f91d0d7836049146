package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// extismSDK is the echo plugin in Extism's own host: one instance, one call at a time.
type extismSDK struct {
	mu     sync.Mutex
	plugin *sdk.Plugin
}

func newExtismSDK(ctx context.Context, file string) (*extismSDK, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := sdk.NewPlugin(ctx, sdk.Manifest{Wasm: []sdk.Wasm{sdk.WasmData{Data: wasm}}},
		sdk.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig()}, nil)
	return &extismSDK{plugin: p}, err
}

// call serves the params of a tools/call.
func (k *extismSDK) call(params []byte) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, out, err := k.plugin.Call("call", append(append([]byte(`{"params":`), params...), '}'))
	return out, err
}

func peerExtismSDK(l net.Listener, ready func()) error {
	k, err := newExtismSDK(context.Background(), guestFile("extism"))
	if err != nil {
		return err
	}
	return serveCalls(l, ready, k.call)
}

// peerPlainExtism serves the three tools of the Extism guest in plain wazero.
func peerPlainExtism(l net.Listener, ready func()) error {
	ctx := context.Background()
	wasm, err := os.ReadFile(guestFile("toolsextism"))
	if err != nil {
		return err
	}
	p, err := newPlainExtism(ctx, wasm)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	return serveCalls(l, ready, func(params []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		err := p.call(ctx, params)
		return bytes.Clone(p.output), err
	})
}

// serveCalls is the minimal server around a guest without a host. call serves the params of a tools/call.
func serveCalls(l net.Listener, ready func(), call func(params []byte) ([]byte, error)) error {
	answer := func(message []byte) []byte {
		m, err := jsonrpc.Parse(message)
		if err != nil || m.ID == nil {
			return nil
		}
		if m.Method != "tools/call" {
			return jsonrpc.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"extism","version":"0"}}`))
		}
		out, err := call(m.Params)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return nil
		}
		return jsonrpc.AppendResult(nil, m.ID, out)
	}
	if l == nil {
		ready()
		return lines(os.Stdin, os.Stdout, answer)
	}
	return serveHandler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if a := answer(body); a != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(a) // the client is gone
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}), ready)
}

// benchExtism compares the Extism dialect with Extism's own host and with plain wazero, all in this process and without a
// transport: one kept instance, and a clean one for each call. The guests use Extism's own PDKs; most existing plugins are in
// Rust. The third guest reads and writes its JSON by encoding/json.
func benchExtism(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	rust, err := benchExtismGuest(ctx, o, filepath.Join("cmd", "bench", "testdata", "extismrust", "echo.wasm"), "")
	if err != nil {
		return nil, err
	}
	goRows, err := benchExtismGuest(ctx, o, guestFile("extism"), "_go")
	if err != nil {
		return nil, err
	}
	tools, err := benchExtismGuest(ctx, o, guestFile("toolsextism"), "_tools")
	if err != nil {
		return nil, err
	}
	fuel, err := benchExtismFuel(ctx)
	return slices.Concat(rust, goRows, tools, fuel), err
}

func benchExtismGuest(ctx context.Context, o options, file, guest string) ([]row, error) {
	theirs, err := newExtismSDK(ctx, file)
	if err != nil {
		return nil, err
	}
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plain, err := newPlainExtism(ctx, wasm)
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	kept := newGatedPool(gates, module, extism.New(), &runtime.PoolOptions{State: runtime.StateSession})
	clean := newGatedPool(gates, module, extism.New(), &runtime.PoolOptions{})
	var rows []row
	for _, size := range []int{100, 100_000} {
		params := []byte(`{"name":"echo","arguments":{"text":"` + payload(size) + `"}}`)
		request := runtime.Request{Method: "tools/call", Params: params, Session: "one"}
		times, err := sustained(o, []func() error{
			func() error { _, err := theirs.call(params); return err },
			func() error { return kept.call(ctx, request) },
			func() error { return clean.call(ctx, request) },
			func() error { return plain.call(ctx, params) },
		})
		if err != nil {
			return nil, err
		}
		label := guest + map[int]string{100: "", 100_000: "_100KB"}[size]
		rate := func(i int) float64 { return 1e9 / float64(times[i]) }
		rows = append(rows,
			row{Name: "extism_kept_over_sdk" + label, Value: rate(1) / rate(0), Unit: "ratio", note: fmt.Sprintf("calls a second; a call takes %v against %v", times[1], times[0])},
			row{Name: "extism_clean_over_sdk" + label, Value: rate(2) / rate(0), Unit: "ratio", note: fmt.Sprintf("a clean instance for each call, %v", times[2])},
			row{Name: "extism_kept_over_wazero" + label, Value: rate(3) / rate(1), Unit: "ratio", note: fmt.Sprintf("time of a call over that of the guest in wazero alone, %v", times[3])},
			row{Name: "extism_sdk_calls" + label, Value: rate(0), Unit: "calls/s"},
			row{Name: "extism_kept_calls" + label, Value: rate(1), Unit: "calls/s"},
			row{Name: "extism_clean_calls" + label, Value: rate(2), Unit: "calls/s"})
	}
	return rows, errors.Join(kept.Close(ctx), clean.Close(ctx), engine.Close(ctx), plain.runtime.Close(ctx))
}

// fuelGate records the fuel of its call.
type fuelGate struct {
	*hostfuncs.Gate
	fuel uint64
}

func (g *fuelGate) Used(u runtime.Usage) { g.fuel = u.Fuel }

// fuelCalls is the number of calls before the one whose fuel counts.
const fuelCalls = 100

// benchExtismFuel compares the computation of an echo, which is the same on every machine: that of the Extism guest with
// encoding/json in a clean and in a kept instance, and that of a guest by this repository's PDK.
func benchExtismFuel(ctx context.Context) ([]row, error) {
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	spent := func(guest string, d runtime.Dialect, s runtime.State) float64 {
		fuel, callErr := echoFuel(ctx, engine, guestFile(guest), d, s)
		err = errors.Join(err, callErr)
		return float64(fuel)
	}
	clean := spent("toolsextism", extism.New(), runtime.StateCall)
	kept := spent("toolsextism", extism.New(), runtime.StatePlugin)
	own := spent("tools", native.New(), runtime.StateCall)
	note := fmt.Sprintf("units of a call: %.4g against %.4g", clean, kept)
	return []row{
		{Name: "extism_fuel_clean_over_kept_tools", Value: clean / kept, Unit: "ratio", note: note},
		{Name: "extism_fuel_over_pdk_tools", Value: clean / own, Unit: "ratio", note: fmt.Sprintf("clean, against %.4g", own)},
	}, errors.Join(err, engine.Close(ctx))
}

// echoFuel returns the fuel of an echo after fuelCalls others.
func echoFuel(ctx context.Context, engine *runtime.Engine, file string, d runtime.Dialect, s runtime.State) (uint64, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return 0, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	pool := newGatedPool(gates, module, d, &runtime.PoolOptions{State: s})
	var fuel uint64
	for range 1 + fuelCalls {
		g := &fuelGate{Gate: pool.policy.NewGate(hostfuncs.Call{ID: "bench", Method: "tools/call"})}
		_, err = pool.Call(ctx, runtime.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"` + payload(100) + `"}}`)}, g)
		g.Close()
		if err != nil {
			break
		}
		fuel = g.fuel
	}
	return fuel, errors.Join(err, pool.Close(ctx), module.Close())
}
