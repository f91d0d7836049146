package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// peerNames returns the compared servers, in the order of the table: the official SDK, this host with a native and with
// an Extism plugin, the SDK of Extism behind a minimal server, mcp-go, and this host with a plugin that decodes its
// arguments with the PDK. Each has an equal tool.
func peerNames() []string {
	return []string{"gosdk", "native", "extism", "extismsdk", "mcpgo", "nativepdk"}
}

const (
	// peerSlice is the duration of one measurement of a server, and quickSlice that with -quick.
	peerSlice  = 400 * time.Millisecond
	quickSlice = 40 * time.Millisecond
	// peerRounds is the number of rounds, in turn.
	peerRounds = 5
)

// setting is one way to call all servers.
type setting struct {
	transport string
	inFlight  int
	size      int // bytes of the text
}

func (s setting) call() toolCall { return echoCall(payload(s.size)) }

func (s setting) String() string {
	size := fmt.Sprintf("%dB", s.size)
	if s.size >= 1000 {
		size = fmt.Sprintf("%dkB", s.size/1000)
	}
	return fmt.Sprintf("%s_%s_%d", s.transport, size, s.inFlight)
}

// benchPeers measures each server in each setting: calls per second, latency, and bytes allocated per call.
func benchPeers(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, transport := range []string{"stdio", "http"} {
		for _, size := range []int{100, 100_000} {
			for _, inFlight := range []int{1, 16} {
				more, err := benchSetting(ctx, o, setting{transport, inFlight, size})
				if err != nil {
					return nil, err
				}
				rows = append(rows, more...)
			}
		}
	}
	return rows, nil
}

// measured holds the measurements of one server in one setting.
type measured struct {
	rates     []float64 // calls per second, by round
	latencies []time.Duration
	calls     int
	bytes     uint64        // allocated by the server meanwhile
	cpu       time.Duration // spent by the server meanwhile
}

func benchSetting(ctx context.Context, o options, s setting) ([]row, error) {
	servers := map[string]*server{}
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	results := map[string]*measured{}
	for _, name := range peerNames() {
		p, err := launch(ctx, name, s.transport)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", name, s.transport, err)
		}
		servers[name], results[name] = p, &measured{}
		if err := p.measure(s.call(), s.inFlight, o.slice/4, &measured{}); err != nil { // warm
			return nil, fmt.Errorf("%s, %s: %w", name, s, err)
		}
	}
	for range min(o.rounds, peerRounds) {
		for _, name := range peerNames() {
			if err := servers[name].measure(s.call(), s.inFlight, o.slice, results[name]); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, s, err)
			}
		}
	}
	var rows []row
	for _, name := range peerNames() {
		rows = append(rows, results[name].rows(s.String()+"_"+name)...)
	}
	if s == (setting{"http", 1, 100}) {
		over := ratios(results["nativepdk"].rates, results["gosdk"].rates)
		rows = append(rows, row{Name: "http_sdk_native_over_sandboxed", Value: median(over), Unit: "ratio",
			note: "time of a call of a native server of the official SDK over one of a Go guest in a clean room; " + spread(over)})
	}
	return rows, nil
}

// measure calls for a while and adds the results to m.
func (p *server) measure(c toolCall, inFlight int, slice time.Duration, m *measured) error {
	before, err := p.allocated()
	if err != nil {
		return err
	}
	begin, spent := time.Now(), cpuOf(p.cmd.Process.Pid)
	latencies, err := p.wire.calls(c, inFlight, slice)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	m.cpu += cpuOf(p.cmd.Process.Pid) - spent
	after, err := p.allocated()
	if err != nil {
		return err
	}
	m.rates = append(m.rates, float64(len(latencies))/took.Seconds())
	m.latencies = append(m.latencies, latencies...)
	m.calls += len(latencies)
	m.bytes += after - before
	return nil
}

// rows returns the calls per second, with the other results in the note.
func (m *measured) rows(name string) []row {
	p50, p99, garbage, cpu := m.latency(50), m.latency(99), float64(m.bytes)/float64(m.calls), microseconds(m.cpu)/float64(m.calls)
	note := fmt.Sprintf("p50 %.4g µs, p99 %.4g µs, CPU %.3g µs/call", p50, p99, cpu)
	if garbage > 0 {
		note += fmt.Sprintf(", %.3g B/call", garbage)
	}
	return []row{
		{Name: name, Value: median(m.rates), Unit: "calls/s", note: note},
		{Name: name + "_p50", Value: p50, Unit: "µs", note: beside},
		{Name: name + "_p99", Value: p99, Unit: "µs", note: beside},
		{Name: name + "_cpu", Value: cpu, Unit: "µs/call", note: beside},
		{Name: name + "_garbage", Value: garbage, Unit: "B/call", note: beside},
	}
}

// latency returns the p-th percentile, in microseconds.
func (m *measured) latency(p int) float64 { return microseconds(percentile(m.latencies, p)) }

// guestFile returns the path of a built guest.
func guestFile(name string) string { return filepath.Join("build", "bench", name, "echo.wasm") }

// buildGuests builds the guests written in Go.
func buildGuests(ctx context.Context) error {
	for _, name := range []string{"native", "nativepdk", "extism", "asks", "busy", "tools", "toolsextism"} {
		if err := buildGuest(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// buildGuest builds one of them.
func buildGuest(ctx context.Context, name string) error {
	out, err := filepath.Abs(guestFile(name))
	if err != nil {
		return err
	}
	overlay, err := workloadOverlay(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-overlay", overlay, "-o", out, ".")
	cmd.Dir = filepath.Join("cmd", "bench", "testdata", name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("guest %s: %w\n%s", name, err, text)
	}
	return nil
}

// workloadOverlay writes the overlay with which a guest, a module of its own, has the package workload of this one.
func workloadOverlay(guest string) (file string, err error) {
	from, err := filepath.Abs(filepath.Join("cmd", "bench", "internal", "workload", "workload.go"))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(filepath.Join("cmd", "bench", "testdata", guest, "workload", "workload.go"))
	if err != nil {
		return "", err
	}
	if file, err = filepath.Abs(guestFile(guest) + ".overlay"); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {to: from}})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, text, 0o644)
}
