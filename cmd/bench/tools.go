package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// toolServer is a server with the tools echo, report and sha.
type toolServer struct {
	name  string
	start func(ctx context.Context, transport string) (*server, error)
}

// toolServers returns the compared servers: the host itself with guests in Go, in Rust and of Extism, in a clean room
// for each call or kept, and the native servers of three SDKs.
func toolServers() []toolServer {
	host := func(name, file, state string) toolServer {
		return toolServer{name, func(ctx context.Context, transport string) (*server, error) {
			return launchHost(ctx, name, file, state, transport)
		}}
	}
	role := func(name string) toolServer {
		return toolServer{name, func(ctx context.Context, transport string) (*server, error) { return launch(ctx, name, transport) }}
	}
	return []toolServer{
		host("go", guestFile("tools"), "call"), host("go_kept", guestFile("tools"), "plugin"),
		host("rust", filepath.Join("cmd", "bench", "testdata", "toolsrust", "tools.wasm"), "call"),
		host("extism", guestFile("toolsextism"), "call"), host("extism_kept", guestFile("toolsextism"), "session"),
		role("plainextism"), role("gosdk"), role("mcpgo"), {"node", launchNode},
	}
}

// launchHost starts the host as a user would, over a folder with one plugin. Its folders stay in build between runs.
func launchHost(ctx context.Context, name, file, state, transport string) (*server, error) {
	dir := hostFolder(name)
	plugins, config := filepath.Join(dir, "plugins"), filepath.Join(dir, "sallyport.yaml")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plugin := filepath.Join(plugins, "tools"+filepath.Ext(file))
	if before, err := os.ReadFile(plugin); err != nil || !bytes.Equal(before, wasm) { // the host waits for a file that was just written
		if err := os.WriteFile(plugin, wasm, 0o644); err != nil {
			return nil, err
		}
	}
	text := fmt.Sprintf("plugins:\n  tools:\n    prefix: false\n    dev: true\n    state: %s\n", state)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	args := []string{"serve", plugins, "--state", filepath.Join(dir, "state"), "--config", config, "--log-level", "error"}
	if transport == "http" {
		args = append(args, "--http", "127.0.0.1:0", "--no-token")
	}
	return launchCommand(exec.CommandContext(ctx, hostBinary, args...), transport)
}

// hostFolder returns the folder of a host that launchHost starts.
func hostFolder(name string) string { return filepath.Join("build", "bench", "hosts", name) }

func launchNode(ctx context.Context, transport string) (*server, error) {
	return launchCommand(exec.CommandContext(ctx, "node", filepath.Join("build", "bench", "node", "server.mjs"), transport), transport)
}

// launchCommand starts a program that writes its address to standard error, at the end of a line, if it serves HTTP.
func launchCommand(cmd *exec.Cmd, transport string) (*server, error) {
	p, err := run(cmd)
	if err != nil {
		return nil, err
	}
	var said []string
	for transport == "http" && p.url == "" {
		line, err := p.log.ReadString('\n')
		if err != nil {
			p.stop()
			return nil, fmt.Errorf("%w: %s", err, strings.Join(said, ""))
		}
		said = append(said, line)
		if at := strings.Index(line, "http://"); at >= 0 {
			p.url = strings.TrimSpace(line[at:])
		}
	}
	return p, p.connect(transport)
}

const (
	// toolsShare is the part of a slice that each measurement takes: there are many.
	toolsShare = 2
	// toolParts divide a measurement, and the servers take turns after each part: a ratio compares neighbours, and the speed
	// of a shared machine changes within seconds.
	toolParts = 4
)

// benchTools measures the three tools in each server: one, eight and 32 calls in flight, over stdio and HTTP.
func benchTools(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	o.slice /= toolsShare
	var rows []row
	for _, transport := range []string{"stdio", "http"} {
		more, err := benchToolsOn(ctx, o, transport)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", transport, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func benchToolsOn(ctx context.Context, o options, transport string) ([]row, error) {
	servers, stop, err := startAll(ctx, toolServers(), transport)
	defer stop()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range []toolCall{echoCall(payload(100)), reportCall(), shaCall()} {
		for _, inFlight := range []int{1, 8, 32} {
			rounds := min(o.rounds, peerRounds)
			if inFlight == 1 { // the other processor sleeps between calls, and how soon it wakes depends on the machine's load
				rounds *= 2
			}
			results, err := measureTools(servers, toolServers(), c, inFlight, rounds, o.slice)
			if err != nil {
				return nil, err
			}
			setting := fmt.Sprintf("tools_%s_%s_%d_", transport, c.tool, inFlight)
			for _, s := range toolServers() {
				rows = append(rows, results[s.name].rows(setting+s.name)...)
			}
			rows = append(rows, toolRatios(setting, results)...)
		}
	}
	for _, s := range toolServers() {
		rows = append(rows, row{Name: fmt.Sprintf("tools_%s_rss_%s_MB", transport, s.name),
			Value: float64(residentOf(servers[s.name].cmd.Process.Pid)) / (1 << 20), Unit: "MiB", note: "after these calls"})
	}
	return rows, nil
}

// measureTools measures one call in all servers, for a slice of time in each round, of which the first only warms.
func measureTools(servers map[string]*server, all []toolServer, c toolCall, inFlight, rounds int, slice time.Duration) (map[string]*measured, error) {
	results := map[string]*measured{}
	for part := range (1 + rounds) * toolParts {
		for _, s := range all {
			if part <= toolParts {
				results[s.name] = &measured{}
			}
			if err := servers[s.name].measure(c, inFlight, slice/toolParts, results[s.name]); err != nil {
				return nil, fmt.Errorf("%s, %s, %d in flight: %w", s.name, c.tool, inFlight, err)
			}
		}
	}
	return results, nil
}

// toolRatios returns the time of a call in this host over that in the native servers and in a kept instance, and the
// tail of its latencies.
func toolRatios(setting string, results map[string]*measured) []row {
	rows := timeOver(setting, results, [][2]string{{"go", "gosdk"}, {"go", "go_kept"}, {"rust", "gosdk"}, {"rust", "mcpgo"}, {"rust", "node"}, {"extism", "extism_kept"}, {"extism", "plainextism"}})
	for _, s := range toolServers() {
		m := results[s.name]
		rows = append(rows, row{Name: setting + s.name + "_tail", Value: m.latency(99) / m.latency(50), Unit: "p99/p50", note: beside})
	}
	return rows
}

// timeOver returns for each pair of servers the time of a call in the first over that in the second.
func timeOver(setting string, results map[string]*measured, pairs [][2]string) (rows []row) {
	for _, pair := range pairs {
		over := ratios(results[pair[1]].rates, results[pair[0]].rates)
		rows = append(rows, row{Name: setting + pair[0] + "_over_" + pair[1], Value: median(over), Unit: "ratio",
			note: fmt.Sprintf("p50 %.4g µs against %.4g µs; %s", results[pair[0]].latency(50), results[pair[1]].latency(50), spread(over))})
	}
	return rows
}
