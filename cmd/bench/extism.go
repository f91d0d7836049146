package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
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

// answer serves one message: the minimal server around the SDK.
func (k *extismSDK) answer(message []byte) []byte {
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
	k, err := newExtismSDK(context.Background(), guestFile("extism"))
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
			_, _ = w.Write(a) // the client is gone
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}), ready)
}

// benchExtism compares the Extism dialect with Extism's own host, both in this process and without a transport: one kept
// instance, and a clean one for each call. Both guests use Extism's own PDKs; most existing plugins are in Rust.
func benchExtism(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	rust, err := benchExtismGuest(ctx, o, filepath.Join("cmd", "bench", "testdata", "extismrust", "echo.wasm"), "")
	if err != nil {
		return nil, err
	}
	goRows, err := benchExtismGuest(ctx, o, guestFile("extism"), "_go")
	return append(rust, goRows...), err
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
		})
		if err != nil {
			return nil, err
		}
		label := guest + map[int]string{100: "", 100_000: "_100KB"}[size]
		rate := func(i int) float64 { return 1e9 / float64(times[i]) }
		rows = append(rows,
			row{Name: "extism_kept_over_sdk" + label, Value: rate(1) / rate(0), Unit: "ratio", note: fmt.Sprintf("calls a second; a call takes %v against %v", times[1], times[0])},
			row{Name: "extism_clean_over_sdk" + label, Value: rate(2) / rate(0), Unit: "ratio", note: fmt.Sprintf("a clean instance for each call, %v", times[2])},
			row{Name: "extism_sdk_calls" + label, Value: rate(0), Unit: "calls/s"},
			row{Name: "extism_kept_calls" + label, Value: rate(1), Unit: "calls/s"},
			row{Name: "extism_clean_calls" + label, Value: rate(2), Unit: "calls/s"})
	}
	return rows, errors.Join(kept.Close(ctx), clean.Close(ctx), engine.Close(ctx))
}
