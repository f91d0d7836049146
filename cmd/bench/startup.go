package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

const (
	// hostBinary is the host as built by make.
	hostBinary = "build/sallyport"
	// startPlugins is the number of distinct plugins in the folder.
	startPlugins = 200
)

// benchStartup measures the time from launching the host to the answer to tools/list, over a folder of 200 distinct
// packed plugins of some 3 MB: without any state, and with their digests cached but nothing compiled.
func benchStartup(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sallyport-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	plugins, state := filepath.Join(dir, "plugins"), filepath.Join(dir, "state")
	wasm, err := os.ReadFile(guestFile("nativepdk"))
	if err == nil {
		wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, []byte(benchManifest))
	}
	if err != nil {
		return nil, err
	}
	size, err := writePlugins(plugins, startPlugins, func(i int) ([]byte, error) {
		return wasmbin.SetCustomSection(wasm, "bench", fmt.Appendf(nil, "copy %d", i))
	})
	if err != nil {
		return nil, err
	}
	var unseen, known []float64
	for range o.rounds {
		for _, s := range []struct {
			forget string // state removed before this start
			times  *[]float64
		}{{state, &unseen}, {filepath.Join(state, "compiled"), &known}} {
			if err := os.RemoveAll(s.forget); err != nil {
				return nil, err
			}
			d, err := timeToList(ctx, plugins, state)
			if err != nil {
				return nil, err
			}
			*s.times = append(*s.times, float64(d.Milliseconds()))
		}
	}
	note := fmt.Sprintf("%d plugins of %.1f MB; ", startPlugins, float64(size)/1e6)
	return []row{
		{"tools_list_200_plugins_cold_ms", median(known), "ms", note + spread(known)},
		{"tools_list_200_plugins_unseen_ms", median(unseen), "ms", note + spread(unseen)},
	}, nil
}

// writePlugins fills dir with n plugins, and returns the size of one.
func writePlugins(dir string, n int, plugin func(i int) ([]byte, error)) (size int, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for i := range n {
		wasm, err := plugin(i)
		if err != nil {
			return 0, err
		}
		size = len(wasm)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%03d.wasm", i)), wasm, 0o644); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// timeToList launches the host over plugins and returns the time to the answer to tools/list.
func timeToList(ctx context.Context, plugins, state string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, hostBinary, "serve", plugins, "--state", state, "--config", os.DevNull, "--log-level", "error")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	if err != nil {
		return 0, err
	}
	n, took, err := readList(bufio.NewReader(out), begin)
	in.Close()
	if wait := cmd.Wait(); err == nil {
		err = wait
	}
	if err == nil && n < startPlugins {
		err = fmt.Errorf("%d tools of %d plugins", n, startPlugins)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return took, nil
}

// readList reads up to the answer to tools/list and returns the number of tools and the time.
func readList(r *bufio.Reader, begin time.Time) (int, time.Duration, error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(begin)
		var m struct {
			ID     any
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return 0, 0, err
		}
		if m.ID == float64(2) {
			return len(m.Result.Tools), took, nil
		}
	}
}
