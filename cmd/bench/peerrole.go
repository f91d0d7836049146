package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/bench/internal/workload"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/transport/stdio"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// servePeer runs one of peerNames as a server until its standard input ends.
func servePeer(name, transport string) error {
	at := places{}
	var err error
	if at.Stats, err = serveStats(); err != nil {
		return err
	}
	var listener net.Listener
	if transport == "http" {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		at.URL = "http://" + listener.Addr().String() + "/mcp"
	}
	ready := func() {
		line, _ := json.Marshal(at)
		fmt.Fprintf(os.Stderr, "%s\n", line)
	}
	switch name {
	case "crowd":
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		return serveFairness(ctx, func(url string) {
			at.URL = url
			ready()
		})
	case "gosdk":
		return peerGoSDK(listener, ready)
	case "mcpgo":
		return peerMCPGo(listener, ready)
	case "extismsdk":
		return peerExtismSDK(listener, ready)
	case "plainextism":
		return peerPlainExtism(listener, ready)
	case "native", "nativepdk", "extism", "gojq", "gojqonce", "gojqargs":
		return peerHost(name, listener, ready)
	}
	return fmt.Errorf("no peer %q", name)
}

// serveStats serves the bytes allocated so far by this process: one reply for each byte received.
func serveStats() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { // ends with the process
		c, err := l.Accept()
		for one := make([]byte, 1); err == nil; {
			if _, err = io.ReadFull(c, one); err == nil {
				var m goruntime.MemStats
				goruntime.ReadMemStats(&m)
				_, err = c.Write(binary.BigEndian.AppendUint64(nil, m.TotalAlloc))
			}
		}
	}()
	return l.Addr().String(), nil
}

// serveHandler serves HTTP until the standard input ends.
func serveHandler(l net.Listener, h http.Handler, ready func()) error {
	srv := &http.Server{Handler: h}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	ready()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func peerGoSDK(l net.Listener, ready func()) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	mcp.AddTool(server, &mcp.Tool{Name: peerTool, Description: "answers with its text"},
		func(_ context.Context, _ *mcp.CallToolRequest, a workload.EchoArgs) (*mcp.CallToolResult, any, error) {
			return text(a.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "report", Description: "totals sales by region"},
		func(_ context.Context, _ *mcp.CallToolRequest, a workload.ReportArgs) (*mcp.CallToolResult, workload.Report, error) {
			r, err := workload.Total(a)
			return nil, r, err
		})
	mcp.AddTool(server, &mcp.Tool{Name: "sha", Description: "digests 64 KiB"},
		func(_ context.Context, _ *mcp.CallToolRequest, a workload.SHAArgs) (*mcp.CallToolResult, any, error) {
			return text(workload.Digest(a)), nil, nil
		})
	if l != nil {
		of := func(*http.Request) *mcp.Server { return server }
		return serveHandler(l, mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{JSONResponse: true}), ready)
	}
	ready()
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

func peerMCPGo(l net.Listener, ready func()) error {
	server := mcpgoserver.NewMCPServer("mcpgo", "1")
	tool := mcpgo.NewTool(peerTool, mcpgo.WithDescription("answers with its text"), mcpgo.WithString("text", mcpgo.Required()))
	server.AddTool(tool, func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(r.GetString("text", "")), nil
	})
	server.AddTool(mcpgo.NewTool("report", mcpgo.WithDescription("totals sales by region"), mcpgo.WithInputSchema[workload.ReportArgs]()),
		mcpgo.NewStructuredToolHandler(func(_ context.Context, _ mcpgo.CallToolRequest, a workload.ReportArgs) (workload.Report, error) {
			return workload.Total(a)
		}))
	server.AddTool(mcpgo.NewTool("sha", mcpgo.WithDescription("digests 64 KiB"), mcpgo.WithInputSchema[workload.SHAArgs]()),
		mcpgo.NewTypedToolHandler(func(_ context.Context, _ mcpgo.CallToolRequest, a workload.SHAArgs) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText(workload.Digest(a)), nil
		}))
	if l != nil {
		return serveHandler(l, mcpgoserver.NewStreamableHTTPServer(server), ready)
	}
	ready()
	return mcpgoserver.ServeStdio(server)
}

// benchEngine returns an engine with the host functions of both dialects.
func benchEngine(ctx context.Context) (*runtime.Engine, error) {
	return runtime.NewEngine(ctx, &runtime.EngineOptions{
		CacheDir: filepath.Join("build", "bench", "compiled"),
		Host:     slices.Concat(wasi.HostFuncs(), native.HostFuncs(), extism.HostFuncs()),
	})
}

// peerHost is this host with one plugin.
func peerHost(name string, l net.Listener, ready func()) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	engine, err := benchEngine(ctx)
	if err != nil {
		return err
	}
	defer engine.Close(ctx)
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	bare := false
	r, err := registry.New(ctx, registry.Options{
		Engine: engine, Host: gates,
		Files: []registry.File{{Path: guestFile(name), Config: registry.Config{Prefix: &bare}}},
		Dialects: []registry.Dialect{
			{Recognises: native.Recognises, Dialect: native.New()}, {Recognises: extism.Recognises, Dialect: extism.New()},
			{Recognises: command.Recognises, Dialect: command.New()},
		},
	})
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	server := protocol.NewServer(r, &protocol.Options{Name: name, Version: "1"})
	defer server.Close(ctx)
	if l != nil {
		return serveHandler(l, streamable.NewHandler(server, &streamable.Options{Path: "/mcp"}), ready)
	}
	ready()
	return stdio.Serve(ctx, server, os.Stdin, os.Stdout, nil)
}

// lines serves a pipe with a function that answers one message; nil is no answer.
func lines(in io.Reader, out io.Writer, answer func([]byte) []byte) error {
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if a := answer(line); a != nil {
			if _, err := w.Write(append(a, '\n')); err != nil {
				return err
			}
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}
