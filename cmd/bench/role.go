package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/transport/stdio"
)

// statsLine is the last line that a server writes to standard error when its input ends.
type statsLine struct {
	AllocatedBytes uint64 `json:"allocatedBytes"`
}

// serveRole runs a server on standard input and output until its input ends.
func serveRole(words []string) error {
	role := words[0]
	if name, ok := strings.CutPrefix(role, "peer-"); ok && len(words) > 1 {
		return servePeer(name, words[1])
	}
	if role == "plain" && len(words) > 1 {
		return servePlain(words[1])
	}
	var err error
	switch role {
	case "floor":
		err = serveMinimal(os.Stdin, os.Stdout)
	case "host":
		err = serveHost()
	case "callers":
		err = serveCallers()
	case "sdk":
		err = serveSDK()
	default:
		return fmt.Errorf("no role %q", role)
	}
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	line, _ := json.Marshal(statsLine{AllocatedBytes: m.TotalAlloc})
	fmt.Fprintf(os.Stderr, "%s\n", line)
	return err
}

// toolName is the tool of every server: it answers with its text argument.
const toolName = "bench-echo"

// serveMinimal is the minimal server on stdio: a buffered line read, one envelope decode, a map lookup, and a write of
// prepared bytes.
func serveMinimal(in io.Reader, out io.Writer) error {
	prepared := map[string]json.RawMessage{
		"tools/call": json.RawMessage(`{"content":[{"type":"text","text":"` + payload(100) + `"}]}`),
		"initialize": json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"floor","version":"0"}}`),
	}
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	var answer []byte
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := jsonrpc.Parse(line)
		if err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		answer = jsonrpc.AppendResult(answer[:0], m.ID, prepared[m.Method])
		w.Write(append(answer, '\n'))
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// benchManifest is the manifest of the in-process echo tool.
const benchManifest = `{"name":"bench","version":"1","tools":[{"name":"echo","description":"answers with its text",
"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`

// echo serves the in-process echo tool.
func echo(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	out := append([]byte(`{"content":[{"type":"text","text":`), jsonraw.Get(params, "arguments", "text")...)
	return append(out, `}]}`...), nil
}

// serveHost is this host with an in-process tool and no guest.
func serveHost() error {
	ctx := context.Background()
	r, err := registry.New(ctx, registry.Options{})
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	if err := r.AddGo("bench", []byte(benchManifest), echo); err != nil {
		return err
	}
	server := protocol.NewServer(r, &protocol.Options{Name: "bench", Version: "1"})
	defer server.Close(ctx)
	return stdio.Serve(ctx, server, os.Stdin, os.Stdout, nil)
}

// serveSDK is a server of the official Go SDK with an equal tool.
func serveSDK() error {
	type args struct {
		Text string `json:"text"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: toolName, Description: "answers with its text"},
		func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
		})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}
