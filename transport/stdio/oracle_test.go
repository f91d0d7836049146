package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

const manifest = `{"tools":[
	{"name":"echo","description":"d","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
	{"name":"talk","description":"d","inputSchema":{"type":"object"}},
	{"name":"wait","description":"d","inputSchema":{"type":"object"}}
]}`

// plugin serves the manifest's tools.
type plugin struct {
	entered chan struct{}
	left    chan error
}

func (p *plugin) serve(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	switch name {
	case "talk":
		for i := range 3 {
			runtime.GateFrom(ctx).Ask(ctx, "notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i+1), nil)
		}
	case "wait":
		p.entered <- struct{}{}
		<-ctx.Done()
		p.left <- ctx.Err()
		return nil, ctx.Err()
	}
	text := jsonraw.Get(params, "arguments", "text")
	if text == nil {
		text = json.RawMessage(`""`)
	}
	return fmt.Appendf(nil, "{\n\"content\":[{\"type\":\"text\",\"text\":%s}]}", text), nil
}

// realServer returns a protocol server over an in-process plugin.
func realServer(t testing.TB) (*protocol.Server, *registry.Registry, *plugin) {
	t.Helper()
	p := &plugin{make(chan struct{}, 10), make(chan error, 10)}
	srv, r := transporttest.Server(t, manifest, p.serve)
	return srv, r, p
}

// TestOfficialClient_speaksEveryVersion runs the official SDK's client with every protocol version that it supports.
func TestOfficialClient_speaksEveryVersion(t *testing.T) {
	for _, version := range envelope.Versions() {
		t.Run(version, func(t *testing.T) {
			srv, r, p := realServer(t)
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- Serve(context.Background(), srv, inR, outW, nil)
				outW.Close()
			}()
			officialClient(t, &mcp.IOTransport{Reader: outR, Writer: inW}, version, r, p)
			// The client closes both pipes at once, perhaps during a notification.
			if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("Serve: got %v, want no error or %v", err, io.ErrClosedPipe)
			}
		})
	}
}

func officialClient(t *testing.T, transport mcp.Transport, version string, r *registry.Registry, p *plugin) {
	progress, changed := make(chan float64, 10), make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 3 {
		t.Fatalf("got tools %v, %v; want 3", list, err)
	}
	for _, text := range []string{"hello", "日本\n\r\u00a0", ""} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
		if err != nil || result.Content[0].(*mcp.TextContent).Text != text {
			t.Errorf("echo %q: got %+v, %v; want the text", text, result, err)
		}
	}
	params := &mcp.CallToolParams{Name: "talk"}
	params.SetProgressToken("t")
	if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
		t.Errorf("talk: got %+v, %v; want no error", result, err)
	}
	for want := range 3 {
		if got := <-progress; got != float64(want+1) {
			t.Errorf("progress %v, want %d", got, want+1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.entered
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil {
		t.Error("cancelled call: got no error, want one")
	}
	if err := <-p.left; err != context.Canceled {
		t.Errorf("got end of the call %v, want %v", err, context.Canceled)
	}
	if version == envelope.Versions()[0] {
		return // changes are reported by subscriptions/listen
	}
	if err := r.AddGo("more", []byte(manifest), p.serve); err != nil {
		t.Fatal(err)
	}
	<-changed
}
