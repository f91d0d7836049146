package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// wire is a transport to a server.
type wire interface {
	// calls calls the tool for the duration of slice, with inFlight calls at a time, checks each answer, and returns
	// the latencies.
	calls(text string, inFlight int, slice time.Duration) ([]time.Duration, error)
}

// server is an initialized server process.
type server struct {
	wire  wire
	cmd   *exec.Cmd
	in    io.WriteCloser
	stats net.Conn
	url   string // its HTTP endpoint
}

// places is the first line that a role writes to standard error.
type places struct {
	Stats string `json:"stats"`         // address that answers each byte with the bytes allocated
	URL   string `json:"url,omitempty"` // its HTTP endpoint
}

// launch starts a role on a transport.
func launch(ctx context.Context, role, transport string) (*server, error) {
	p := &server{cmd: exec.CommandContext(ctx, os.Args[0], "role", "peer-"+role, transport)}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(errs)
	first, err := lines.ReadString('\n')
	var at places
	if err == nil {
		err = json.Unmarshal([]byte(first), &at)
	}
	if err != nil {
		rest, _ := io.ReadAll(lines)
		p.stop()
		return nil, fmt.Errorf("%w: %s%s", err, first, rest)
	}
	go func() { _, _ = io.Copy(os.Stderr, lines) }() // ends with the process
	if p.stats, err = net.Dial("tcp", at.Stats); err != nil {
		p.stop()
		return nil, err
	}
	switch p.url = at.URL; transport {
	case "crowd": // it has many clients
	case "http":
		p.wire, err = dialHTTP(at.URL)
	default:
		p.wire, err = newPipe(p.in, out)
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// stop closes the server's input and waits for its end.
func (p *server) stop() {
	if p.stats != nil {
		_ = p.stats.Close() // only read
	}
	_ = p.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait() // its exit does not affect the results
}

// allocated returns the bytes allocated by the server so far.
func (p *server) allocated() (uint64, error) {
	if _, err := p.stats.Write([]byte{0}); err != nil {
		return 0, err
	}
	var n [8]byte
	_, err := io.ReadFull(p.stats, n[:])
	return binary.BigEndian.Uint64(n[:]), err
}

// The handshake, understood by every server here.
const (
	helloRequest = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	helloNotice  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// appendCall appends one call of the tool.
func appendCall(dst []byte, id int, text string) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"text":"%s"}}}`, id, peerTool, text)
}

// peerTool is the tool of every server here.
const peerTool = "echo"

// isAnswer reports whether answer is the expected result.
func isAnswer(answer []byte, text string) bool {
	return len(answer) > len(text) && strings.Contains(string(answer[:min(len(answer), 4<<10)]), text[:100]) && !strings.Contains(string(answer[:min(len(answer), 4<<10)]), `"isError":true`)
}
