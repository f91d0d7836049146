package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// payload returns a text of n bytes.
func payload(n int) string { return strings.Repeat("x", n) }

// peer is an initialized server process.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	sent   int
}

// start launches a role and initializes it.
func start(ctx context.Context, role string) (*peer, error) {
	p := &peer{cmd: roleCommand(ctx, role)}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n")
	if err != nil {
		return nil, err
	}
	if _, err := p.out.ReadSlice('\n'); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", role, err, p.stderr.String())
	}
	_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return p, err
}

// calls makes n calls with inFlight at a time, checks each answer, and returns the time per call.
func (p *peer) calls(n, inFlight int) (time.Duration, error) {
	var request []byte
	text := payload(100)
	want := []byte(text)
	send := func() error {
		p.sent++
		request = fmt.Appendf(request[:0], `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"text":"%s"}}}`+"\n", p.sent, toolName, text)
		_, err := p.in.Write(request)
		return err
	}
	begin := time.Now()
	for i := range n + inFlight {
		if i >= inFlight {
			line, err := p.answer()
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, p.stderr.String())
			}
			if !bytes.Contains(line, want) {
				return 0, fmt.Errorf("unexpected answer: %.200s", line)
			}
		}
		if i < n {
			if err := send(); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

// answer reads the next line that is not a notification.
func (p *peer) answer() ([]byte, error) {
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil || !bytes.Contains(line, []byte(`"method":"notifications/`)) {
			return line, err
		}
	}
}

// stop ends the server and returns the total bytes that it allocated.
func (p *peer) stop() (uint64, error) {
	if err := p.in.Close(); err != nil {
		return 0, err
	}
	if err := p.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, p.stderr.String())
	}
	var s statsLine
	lines := bytes.Split(bytes.TrimSpace(p.stderr.Bytes()), []byte("\n"))
	return s.AllocatedBytes, json.Unmarshal(lines[len(lines)-1], &s)
}

// benchStdio compares the host without a guest with serveMinimal and with the official SDK.
func benchStdio(ctx context.Context, o options) ([]row, error) {
	var rows []row
	for _, inFlight := range []int{1, 16} {
		times, garbage, err := inTurn(ctx, []string{"floor", "host", "sdk"}, o, inFlight)
		if err != nil {
			return nil, err
		}
		suffix := "" // the round trip of one call
		if inFlight > 1 {
			suffix = fmt.Sprintf("_%d_in_flight", inFlight)
		}
		overFloor, sdkOver := ratios(times["host"], times["floor"]), ratios(times["sdk"], times["host"])
		rows = append(rows,
			row{"stdio_host_over_floor" + suffix, median(overFloor), "ratio", spread(overFloor)},
			row{"stdio_sdk_over_host" + suffix, median(sdkOver), "ratio", spread(sdkOver)})
		for _, role := range []string{"floor", "host", "sdk"} {
			rows = append(rows,
				row{"stdio_" + role + "_us" + suffix, median(times[role]), "µs/call", spread(times[role])},
				row{"stdio_" + role + "_garbage" + suffix, garbage[role], "B/call", ""})
		}
	}
	return rows, nil
}

// stdioTurns is the number of turns of each role per round. Turns are short, so that other load on the machine affects
// all roles alike.
const stdioTurns = 40

// inTurn measures the roles in turn and returns microseconds per call, and bytes allocated per call.
func inTurn(ctx context.Context, roles []string, o options, inFlight int) (map[string][]float64, map[string]float64, error) {
	times, garbage := map[string][]float64{}, map[string]float64{}
	peers := map[string]*peer{}
	for _, role := range roles {
		p, err := start(ctx, role)
		if err != nil {
			return nil, nil, err
		}
		peers[role] = p
		if _, err := p.calls(o.calls/10+1, inFlight); err != nil { // warm
			return nil, nil, fmt.Errorf("%s: %w", role, err)
		}
	}
	for range o.rounds * stdioTurns {
		for _, role := range roles {
			d, err := peers[role].calls(o.calls/stdioTurns, inFlight)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", role, err)
			}
			times[role] = append(times[role], float64(d)/float64(time.Microsecond))
		}
	}
	for role, p := range peers {
		total, err := p.stop()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", role, err)
		}
		garbage[role] = float64(total) / float64(p.sent)
	}
	return times, garbage, nil
}
