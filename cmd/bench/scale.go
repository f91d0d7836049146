package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

const (
	// scaleStored is the number of calls from which the writes and the bytes of a call are taken.
	scaleStored = 400
	// scaleSessions and scaleConnections are the numbers from which the memory of one is taken.
	scaleSessions, scaleConnections = 10_000, 2_000
	// scalePlugins is the number of distinct Go plugins from which the memory of one is taken.
	scalePlugins = 20
	// scaleWriters is the number of concurrent writers of the database, the connections of a host.
	scaleWriters = 16
)

// benchScale measures the inputs of the capacity model of docs/scale.md, on the program itself where it can: processor
// time, audit log, memory of sessions, connections and plugins. -o writes them for the model, as make scale does.
func benchScale(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	stored, err := storedRows(ctx)
	if err != nil {
		return nil, err
	}
	calls, err := scaleCallRows(ctx, o)
	if err != nil {
		return nil, err
	}
	memory, err := scaleMemoryRows(ctx, o)
	if err != nil {
		return nil, err
	}
	database, err := scaleDatabaseRows(ctx, o)
	return append(append(append(stored, calls...), memory...), database...), err
}

// storedRows measures what calls leave in the store.
func storedRows(ctx context.Context) (rows []row, err error) {
	for _, kind := range scaleKinds {
		writes, size, err := storedBy(ctx, kind, scaleStored)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		rows = append(rows,
			row{Name: "scale_" + kind + "_writes", Value: writes, Unit: "/call", note: "writing transactions"},
			row{Name: "scale_" + kind + "_row", Value: size, Unit: "B/call", note: "left in the file of the store"})
	}
	return rows, nil
}

// scaleProcess is the program with the guest asks, over HTTP.
type scaleProcess struct {
	client *scaleClient
	state  string
	cmd    *exec.Cmd
}

// scaleConfig is the configuration: the guest under its own names, and room for the measurements.
const scaleConfig = "http: {connections: 10000}\nplugins: {asks: {prefix: false, grants: [elicitation, \"kv: 16MiB\"]}}\n"

// startScale starts the program over a folder of plugins, to which it adds the guest, in dir.
func startScale(ctx context.Context, dir, plugins string) (*scaleProcess, error) {
	asks, err := os.ReadFile(guestFile("asks"))
	if err == nil {
		err = os.MkdirAll(plugins, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(plugins, "asks.wasm"), asks, 0o600)
	}
	if err != nil {
		return nil, err
	}
	p := &scaleProcess{state: filepath.Join(dir, "state")}
	config := filepath.Join(dir, "sallyport.yaml")
	if err := os.WriteFile(config, []byte(scaleConfig), 0o600); err != nil {
		return nil, err
	}
	common := []string{"--config", config, "--state", p.state}
	token, err := exec.CommandContext(ctx, hostBinary, append([]string{"token", "bench"}, common...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	p.cmd = exec.CommandContext(ctx, hostBinary, append([]string{"serve", plugins, "--http", "127.0.0.1:0"}, common...)...)
	lines, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	url, err := firstMatch(lines, regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/mcp`))
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.client = &scaleClient{url: url, token: string(bytes.TrimSpace(token)), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	return p, nil
}

// stop ends the program.
func (p *scaleProcess) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	return p.cmd.Wait()
}

// resident returns the memory of the process in bytes.
func (p *scaleProcess) resident() float64 { return float64(residentOf(p.cmd.Process.Pid)) }

// scaleCallRows measures the processor time and the audit log of a call of each kind.
func scaleCallRows(ctx context.Context, o options) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := startScale(ctx, dir, filepath.Join(dir, "plugins"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	calls := o.calls / 20
	cpu, logged := map[string][]float64{}, map[string]float64{}
	for round := range o.rounds + 1 {
		for _, kind := range scaleKinds {
			spent, size := cpuOf(p.cmd.Process.Pid), bytesIn(filepath.Join(p.state, "audit"))
			for range calls {
				if err := p.client.call(kind); err != nil {
					return nil, fmt.Errorf("%s: %w", kind, err)
				}
			}
			if round == 0 {
				continue // it warms up
			}
			cpu[kind] = append(cpu[kind], microseconds(cpuOf(p.cmd.Process.Pid)-spent)/float64(calls))
			time.Sleep(1100 * time.Millisecond) // the log is written once a second
			logged[kind] = float64(bytesIn(filepath.Join(p.state, "audit"))-size) / float64(calls)
		}
	}
	for _, kind := range scaleKinds {
		rows = append(rows,
			row{Name: "scale_" + kind + "_cpu", Value: median(cpu[kind]), Unit: "µs/call", note: "of the program; " + spread(cpu[kind])},
			row{Name: "scale_" + kind + "_audit", Value: logged[kind], Unit: "B/call", note: "of the audit log"})
	}
	return rows, nil
}

// scaleMemoryRows measures the memory of the program, of a session, of a connection that waits, and of a plugin.
func scaleMemoryRows(ctx context.Context, o options) (rows []row, err error) {
	sessions, connections := scaleSessions, scaleConnections
	if o.quick {
		sessions, connections = sessions/10, connections/10
	}
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plugins := filepath.Join(dir, "plugins")
	if _, err := writeToolPlugins(ctx, dir, plugins, scalePlugins); err != nil {
		return nil, err
	}
	p, err := startScale(ctx, dir, plugins)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.client.call("plain"); err != nil {
		return nil, err
	}
	base := p.resident()
	var waiting []*http.Transport
	for range connections {
		c := *p.client
		own := &http.Transport{}
		waiting, c.client = append(waiting, own), &http.Client{Transport: own}
		if err := c.call("plain"); err != nil {
			return nil, err
		}
	}
	connected := p.resident()
	for _, own := range waiting {
		own.CloseIdleConnections()
	}
	before := p.resident()
	call := reportCall()
	for i := range scalePlugins {
		name := fmt.Sprintf("p%03d-report", i)
		if _, err := p.client.modern("tools/call", name, map[string]any{"name": name, "arguments": json.RawMessage(call.arguments)}, nil); err != nil {
			return nil, err
		}
	}
	loaded := p.resident()
	session, err := sessionMemory(ctx, dir, sessions)
	return []row{
		{Name: "scale_host_memory", Value: base, Unit: "B", note: "resident, with one plugin that was called"},
		{Name: "scale_plugin_memory", Value: (loaded - before) / scalePlugins, Unit: "B", note: "each of 20 Go plugins after a call"},
		{Name: "scale_session_memory", Value: session, Unit: "B", note: "of heap, each session of 2025-11-25"},
		{Name: "scale_connection_memory", Value: (connected - base) / float64(connections), Unit: "B", note: "resident, each connection that waits"},
	}, err
}

// sessionMemory returns the heap of a session, in a host of this process.
func sessionMemory(ctx context.Context, dir string, n int) (float64, error) {
	h, err := newScaleHost(ctx, store.Options{Dir: filepath.Join(dir, "sessions")})
	if err != nil {
		return 0, err
	}
	if err := h.client.call("session"); err != nil {
		return 0, errors.Join(err, h.close())
	}
	before := heapInUse()
	for range n {
		if _, err := h.client.begin(); err != nil {
			return 0, errors.Join(err, h.close())
		}
	}
	return float64(heapInUse()-before) / float64(n), h.close()
}

// scaleDatabaseRows measures the processor time of PostgreSQL for a write of one row by 16 concurrent writers.
func scaleDatabaseRows(ctx context.Context, o options) (rows []row, err error) {
	database, err := postgrestest.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	var costs []float64
	for round := range o.rounds {
		before, err := database.Spent()
		if err != nil {
			return nil, err
		}
		if err := writeRows(ctx, database.URL("owner", "public"), strconv.Itoa(round), o.calls); err != nil {
			return nil, err
		}
		after, err := database.Spent()
		if err != nil {
			return nil, err
		}
		costs = append(costs, microseconds(after-before)/float64(o.calls))
	}
	return []row{{Name: "scale_database_cpu", Value: median(costs), Unit: "µs/write", note: "of PostgreSQL with 16 writers, without a disk; " + spread(costs)}}, nil
}

// writeRows adds n records over the connections of one store. Their time is known to the server when they have ended.
func writeRows(ctx context.Context, url, prefix string, n int) error {
	s := store.New(store.Options{URL: url})
	errs := make([]error, scaleWriters)
	var writers sync.WaitGroup
	for w := range scaleWriters {
		writers.Go(func() {
			for i := w; i < n && errs[w] == nil; i += scaleWriters {
				_, errs[w] = s.Add(ctx, store.Spent, store.Record{ID: prefix + "-" + strconv.Itoa(i), Principal: "token:" + strconv.Itoa(w), Data: []byte("x")})
			}
		})
	}
	writers.Wait()
	if err := errors.Join(append(errs, s.Close())...); err != nil {
		return err
	}
	time.Sleep(time.Second) // the server reaps its connections
	return nil
}

// firstMatch returns the first match in the lines of a program, and reads on.
func firstMatch(lines io.Reader, what *regexp.Regexp) (string, error) {
	in := bufio.NewReader(lines)
	for {
		line, err := in.ReadString('\n')
		if found := what.FindString(line); found != "" {
			go func() { _, _ = io.Copy(io.Discard, in) }() // ends with the process
			return found, nil
		}
		if err != nil {
			return "", fmt.Errorf("the program ended before it served: %w", err)
		}
	}
}
