package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// fiftyPlugins is the number of distinct Go plugins in one host, fewPlugins with -quick.
	fiftyPlugins, fewPlugins = 50, 3
	// fiftyIdle is the time without a call before memory is measured again.
	fiftyIdle = time.Minute
)

// benchFifty measures a host with fifty Go plugins that differ in their data: memory after one call each and a minute
// later, and the state folder.
func benchFifty(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	n, idle := fiftyPlugins, fiftyIdle
	if o.quick {
		n, idle = fewPlugins, time.Second
	}
	dir, err := os.MkdirTemp("", "sallyport-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	plugins, state := filepath.Join(dir, "plugins"), filepath.Join(dir, "state")
	size, err := writeToolPlugins(ctx, dir, plugins, n)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	compile := exec.CommandContext(ctx, hostBinary, "compile", plugins, "--state", state, "--config", os.DevNull)
	if text, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	compiled := time.Since(begin)
	p, err := launchCommand(exec.CommandContext(ctx, hostBinary, "serve", plugins, "--state", state, "--config", os.DevNull, "--log-level", "error"), "stdio")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	begin = time.Now()
	call := reportCall()
	for i := range n {
		call.tool = fmt.Sprintf("p%03d-report", i)
		if err := p.wire.(*pipe).once(call); err != nil {
			return nil, fmt.Errorf("%s: %w", call.tool, err)
		}
	}
	called := time.Since(begin)
	rss := func() float64 { return float64(residentOf(p.cmd.Process.Pid)) / (1 << 20) }
	busy := rss()
	time.Sleep(idle)
	note := fmt.Sprintf("%d plugins of %.1f MB", n, float64(size)/1e6)
	return []row{
		{"plugins_50_compile_s", compiled.Seconds(), "s", note + ", once"},
		{"plugins_50_first_calls_ms", milliseconds(called), "ms", note + ", one call each, one after the other"},
		{"plugins_50_rss_MB", busy, "MiB", note + ", after one call each"},
		{"plugins_50_rss_idle_MB", rss(), "MiB", fmt.Sprintf("%s, %v later", note, idle)},
		{"plugins_50_state_over_plugins", float64(bytesIn(state)) / float64(n*size), "ratio",
			fmt.Sprintf("%s, state folder of %.1f MB", note, float64(bytesIn(state))/1e6)},
	}, nil
}

// writeToolPlugins packs the guest with the tools and writes n copies of it with versions of their own.
func writeToolPlugins(ctx context.Context, dir, plugins string, n int) (size int, err error) {
	wasm, err := os.ReadFile(guestFile("tools"))
	if err != nil {
		return 0, err
	}
	packed := filepath.Join(dir, "tools.wasm")
	if err := os.WriteFile(packed, wasm, 0o644); err != nil {
		return 0, err
	}
	if text, err := exec.CommandContext(ctx, hostBinary, "pack", packed, "--state", filepath.Join(dir, "packing"), "--config", os.DevNull).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, text)
	}
	if wasm, err = os.ReadFile(packed); err != nil {
		return 0, err
	}
	version := []byte("copy 000")
	if bytes.Count(wasm, version) < 2 { // in the data, and in the packed description
		return 0, fmt.Errorf("the guest has no version to replace")
	}
	return writePlugins(plugins, n, func(i int) ([]byte, error) {
		return bytes.ReplaceAll(wasm, version, fmt.Appendf(nil, "copy %03d", i)), nil
	})
}

// bytesIn returns the size of the files below a folder.
func bytesIn(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a file may disappear meanwhile
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
