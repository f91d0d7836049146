package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// wholeServer is an example server of the official SDK, which is built unchanged.
	wholeServer = "github.com/modelcontextprotocol/go-sdk/examples/server/hello"
	// manyServers is the number of servers in one host, which share their code.
	manyServers, someServers = 100, 5
)

// nativeServer is that server, built for this machine.
var nativeServer = filepath.Join("build", "bench", "sdkserver", "hello")

// buildServer builds the server as a plugin and natively.
func buildServer(ctx context.Context) error {
	for out, env := range map[string][]string{guestFile("sdkserver"): {"GOOS=wasip1", "GOARCH=wasm"}, nativeServer: nil} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, wholeServer)
		cmd.Env = append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", wholeServer, err, text)
		}
	}
	return nil
}

// greetCall returns a call of the tool of wholeServer.
func greetCall(tool string) toolCall {
	return toolCall{tool, `{"name":"` + payload(100) + `"}`, payload(100)}
}

// benchServers compares a whole server as a plugin with its native build, both over stdio: clean for each call, kept for
// the session, and started by each call. Beside them runs the same module in the engine alone, started once, without a limit
// or a gate: the share of the engine's code.
func benchServers(ctx context.Context, o options) ([]row, error) {
	if err := buildServer(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, inFlight := range []int{1, 8} {
		more, err := compareServers(ctx, o, inFlight)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// benchIdleServers measures a host with many servers that wait for calls.
func benchIdleServers(ctx context.Context, o options) ([]row, error) {
	if err := buildServer(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, state := range []string{"call", "session"} {
		more, err := benchManyServers(ctx, o, state)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// compareServers measures the ways to run the server in turn.
func compareServers(ctx context.Context, o options, inFlight int) ([]row, error) {
	ways := []string{"native", "wazero", "call", "session", "fresh"}
	servers, results := map[string]*server{}, map[string]*measured{}
	for _, way := range ways {
		var err error
		switch way {
		case "native":
			servers[way], err = launchCommand(exec.CommandContext(ctx, nativeServer), "stdio")
		case "wazero":
			servers[way], err = launchCommand(roleCommand(ctx, "plain", guestFile("sdkserver")), "stdio")
		default:
			servers[way], err = launchHost(ctx, "sdkserver_"+way, guestFile("sdkserver"), way, "stdio")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		defer servers[way].stop()
		results[way] = &measured{}
		if err := servers[way].measure(greetCall("greet"), inFlight, o.slice, &measured{}); err != nil { // warm
			return nil, fmt.Errorf("%s: %w", way, err)
		}
	}
	for range o.rounds {
		for _, way := range ways {
			if err := servers[way].measure(greetCall("greet"), inFlight, o.slice, results[way]); err != nil {
				return nil, fmt.Errorf("%s: %w", way, err)
			}
		}
	}
	var rows []row
	compare := func(way, base string) {
		over := ratios(results[way].rates, results[base].rates)
		rows = append(rows, row{Name: fmt.Sprintf("server_%s_over_%s_%d", way, base, inFlight), Value: median(over), Unit: "ratio",
			note: fmt.Sprintf("calls per second: %.0f against %.0f, %s", median(results[way].rates), median(results[base].rates), spread(over))})
	}
	for _, way := range ways[1:] {
		compare(way, "native")
	}
	compare("call", "wazero")
	return rows, nil
}

// benchManyServers measures the memory of a host with many servers, after one call each and later, and then the processor
// time of the idle host. In between it gives memory back, which takes time once. A host with one of them, beside it, has the
// memory that they share. Both start with their files compiled.
func benchManyServers(ctx context.Context, o options, state string) ([]row, error) {
	n, idle := manyServers, fiftyIdle
	if o.quick {
		n, idle = someServers, time.Second
	}
	dir, err := os.MkdirTemp("", "sallyport-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var hosts []*server // with one, and with all
	for _, n := range []int{1, n} {
		p, err := launchMany(ctx, filepath.Join(dir, fmt.Sprint(n)), n, state)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		for i := range n {
			if err := p.wire.(*pipe).once(greetCall(fmt.Sprintf("p%03d-greet", i))); err != nil {
				return nil, fmt.Errorf("server %d: %w", i, err)
			}
		}
		hosts = append(hosts, p)
	}
	one, all := hosts[0].cmd.Process.Pid, hosts[1].cmd.Process.Pid
	each := func() float64 { return float64(keptBy(all)-keptBy(one)) / float64(n-1) / (1 << 20) }
	busy, before := each(), cpuOf(all)
	time.Sleep(idle)
	later, after := each(), cpuOf(all)
	time.Sleep(idle)
	used := cpuOf(all) - after
	name, note := "servers_100_"+state, fmt.Sprintf("%d servers of one file, without what one takes", n)
	return []row{
		{name + "_each_MB", busy, "MiB", note + ", after one call each"},
		{name + "_idle_each_MB", later, "MiB", fmt.Sprintf("%s, %v later; with one the host takes %.0f MiB", note, idle, float64(keptBy(one))/(1<<20))},
		{name + "_idle_cpu", 100 * used.Seconds() / idle.Seconds(), "%", fmt.Sprintf("of one processor, in the %v after that", idle)},
		{name + "_give_back_ms", float64((after - before).Milliseconds()), "ms", fmt.Sprintf("of a processor, in the %v before, in which the host gives memory back", idle)},
	}, nil
}

// launchMany starts a host with n servers of one file, which is compiled and described.
func launchMany(ctx context.Context, dir string, n int, state string) (*server, error) {
	wasm, err := os.ReadFile(guestFile("sdkserver"))
	if err != nil {
		return nil, err
	}
	plugins, config := filepath.Join(dir, "plugins"), filepath.Join(dir, "sallyport.yaml")
	if _, err := writePlugins(plugins, n, func(int) ([]byte, error) { return wasm, nil }); err != nil {
		return nil, err
	}
	text := "plugins:\n"
	for i := range n {
		text += fmt.Sprintf("  p%03d: {state: %s}\n", i, state)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	folders := []string{plugins, "--state", filepath.Join(dir, "state"), "--config", config, "--log-level", "error"}
	if text, err := exec.CommandContext(ctx, hostBinary, append([]string{"compile"}, folders...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return launchCommand(exec.CommandContext(ctx, hostBinary, append([]string{"serve"}, folders...)...), "stdio")
}
