package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"time"
)

// wire is a transport to a server.
type wire interface {
	// calls calls the tool for the duration of slice, with inFlight calls at a time, checks each answer, and returns
	// the latencies.
	calls(c toolCall, inFlight int, slice time.Duration) ([]time.Duration, error)
}

// server is an initialized server process.
type server struct {
	wire  wire
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	log   *bufio.Reader // its standard error
	stats net.Conn      // nil for a server that is not a role of this program
	url   string        // its HTTP endpoint
}

// places is the first line that a role writes to standard error.
type places struct {
	Stats string `json:"stats"`         // address that answers each byte with the bytes allocated
	URL   string `json:"url,omitempty"` // its HTTP endpoint
}

// launch starts a role on a transport.
func launch(ctx context.Context, role, transport string) (*server, error) {
	p, err := run(roleCommand(ctx, "peer-"+role, transport))
	if err != nil {
		return nil, err
	}
	first, err := p.log.ReadString('\n')
	var at places
	if err == nil {
		err = json.Unmarshal([]byte(first), &at)
	}
	if err != nil {
		rest, _ := io.ReadAll(p.log)
		p.stop()
		return nil, fmt.Errorf("%w: %s%s", err, first, rest)
	}
	if p.stats, err = net.Dial("tcp", at.Stats); err != nil {
		p.stop()
		return nil, err
	}
	p.url = at.URL
	return p, p.connect(transport)
}

// roleCommand returns a command that runs this program with a role. Servers without this host collect garbage as Go does
// by itself, and the others as the host does.
func roleCommand(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"role"}, words...)...)
	if slices.Contains([]string{"floor", "sdk", "plain", "peer-gosdk", "peer-mcpgo", "peer-extismsdk", "peer-plainextism"}, words[0]) {
		cmd.Env = append(os.Environ(), "GOGC=100")
	}
	return cmd
}

// run starts a server. Its standard error has to be read until connect is called.
func run(cmd *exec.Cmd) (*server, error) {
	p := &server{cmd: cmd}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.log = bufio.NewReader(errs)
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, cmd.Start()
}

// connect opens the wire to a server whose address is known. After an error the server is stopped.
func (p *server) connect(transport string) (err error) {
	go func() { _, _ = io.Copy(os.Stderr, p.log) }() // ends with the process
	switch transport {
	case "crowd": // it has many clients
	case "http":
		p.wire, err = dialHTTP(p.url)
	default:
		p.wire, err = newPipe(p.in, p.out)
	}
	if err != nil {
		p.stop()
	}
	return err
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

// allocated returns the bytes allocated by the server so far, 0 if it is not a role of this program.
func (p *server) allocated() (uint64, error) {
	if p.stats == nil {
		return 0, nil
	}
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

// toolCall is a call of a tool.
type toolCall struct {
	tool      string
	arguments string // JSON
	want      string // in the first part of every answer
}

// echoCall returns a call of the echo tool with a text of at least 100 bytes.
func echoCall(text string) toolCall {
	return toolCall{peerTool, `{"text":"` + text + `"}`, text[:100]}
}

// append appends the call as a message.
func (c toolCall) append(dst []byte, id int) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, c.tool, c.arguments)
}

// peerTool is the tool of every server here.
const peerTool = "echo"

// isAnswer reports whether answer is an expected result.
func (c toolCall) isAnswer(answer []byte) bool {
	head := answer[:min(len(answer), 4<<10)]
	return bytes.Contains(head, []byte(c.want)) && !bytes.Contains(head, []byte(`"isError":true`))
}
