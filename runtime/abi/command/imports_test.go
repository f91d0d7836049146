package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/abi/server"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

const (
	openStream = `{"method":"stream/open"}`
	fetchIt    = `{"method":"http/fetch","params":{"url":"http://a.example/","body":{"dev.sallyport/stream":2}}}`
	askKey     = `{"method":"kv/get","params":{"key":"a"}}`
)

// fetcher returns a program that uses all four imports and traps at the first answer that is not as it should be.
func fetcher() *w.Module {
	var m w.Module
	three := []byte{w.I32, w.I32, w.I32}
	read := m.Import("sallyport", "read", three, []byte{w.I32})
	write := m.Import("sallyport", "write", three, []byte{w.I32})
	ask := m.Import("sallyport", "call", []byte{w.I32, w.I32}, []byte{w.I64})
	closeStream := m.Import("sallyport", "close", []byte{w.I32}, []byte{w.I32})
	m.Memory(1, w.None)
	m.Data(1024, []byte(openStream+fetchIt+askKey))
	is := func(want int32) []byte {
		return w.Code(w.I32Const(want), []byte{0x47}, w.IfVoid, w.Unreachable, w.End) // i32.ne
	}
	stream := func(f uint32, id, ptr, size int32) []byte {
		return w.Code(w.I32Const(id), w.I32Const(ptr), w.I32Const(size), w.Call(f))
	}
	asks := func(at, size int) []byte {
		return w.Code(w.I32Const(int32(at)), w.I32Const(int32(size)), w.Call(ask), w.I64Const(32), w.I64Shr, w.I32Wrap)
	}
	at := 1024
	m.Export("_start", m.Func(nil, nil, nil,
		stream(read, 0, 4096, 8), is(-int32(native.EBADF)), // no request
		stream(write, 1, 1024, 8), is(-int32(native.EBADF)), // no response
		asks(at, len(openStream)), is(3), // stream 2 is for writing, 3 the answer
		stream(write, 2, 1024, 4), is(4),
		asks(at+len(openStream), len(fetchIt)), is(5), // stream 4 is the body
		stream(read, 4, 4096, 64), is(4),
		stream(read, 4, 4096, 64), is(0),
		w.I32Const(4), w.Call(closeStream), is(0),
		w.I32Const(4), w.Call(closeStream), is(-int32(native.EBADF)),
		asks(at+len(openStream)+len(fetchIt), len(askKey)), is(6)))
	return &m
}

// gate serves http/fetch and launches anything.
type gate struct {
	asked  []string
	sent   string
	dials  bool // the program reports a failed connection instead
	stderr io.Writer
}

// Launch keeps the standard error.
func (g *gate) Launch(_ runtime.CommandLine, _ io.Reader, _, stderr io.Writer) { g.stderr = stderr }

// noInput discards the messages to a server.
type noInput struct{}

func (noInput) Send([]byte) bool { return true }
func (noInput) Rest() []byte     { return nil }

func (g *gate) LaunchServer(runtime.CommandLine, runtime.Conversation) runtime.Input {
	return noInput{}
}
func (g *gate) Input(string) io.Reader { return nil }

func (g *gate) InputResource(context.Context, string) io.Reader { return nil }

func (g *gate) ReadResult(string, int, string) ([]byte, error) { return nil, errors.New("none") }

func (g *gate) Ask(_ context.Context, method string, _ json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	g.asked = append(g.asked, method)
	if g.dials {
		fmt.Fprintln(g.stderr, "Get http://a.example/: dial tcp: lookup a.example: connection refused")
		runtime.Exit(1)
	}
	body, _, err := s.Take(2)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	g.sent = string(data)
	if err != nil {
		return nil, err
	}
	_, err = s.Open(io.NopCloser(strings.NewReader("body")))
	return json.RawMessage(`{"status":200}`), err
}

// run calls a module once, as a program or as a server.
func run(t *testing.T, m *w.Module, d runtime.Dialect, g runtime.Gate) error {
	t.Helper()
	e, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{Host: native.HostFuncs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c, err := e.Compile(context.Background(), m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	p := runtime.NewPool(c, d, &runtime.PoolOptions{State: runtime.StateFresh})
	_, err = p.Call(context.Background(), runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"x"}`)}, g)
	return err
}

func tool(t *testing.T) runtime.Dialect {
	t.Helper()
	p, err := command.Parse([]byte(`{"tools":[{"name":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return command.Of(p)
}

func TestImports_giveProgramsHTTPAndNothingElse(t *testing.T) {
	g := &gate{}
	if err := run(t, fetcher(), tool(t), g); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g.asked, []string{"http/fetch"}) || g.sent != openStream[:4] {
		t.Errorf("got %q and body %q, want http/fetch with body %q", g.asked, g.sent, openStream[:4])
	}
}

// The guest ends before its handshake, which comes after all of its imports were as they should be.
func TestImports_giveServersTheSame(t *testing.T) {
	g := &gate{}
	err := run(t, fetcher(), server.New(), g)
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != runtime.KindExit || g.sent != openStream[:4] {
		t.Errorf("got %v and body %q, want the end of the guest and body %q", err, g.sent, openStream[:4])
	}
}

func TestFailure_namesTheCommandForANetwork(t *testing.T) {
	err := run(t, fetcher(), tool(t), &gate{dials: true})
	want := "the program exited with code 1; a program has no network but HTTP, which sallyport build --go builds into a Go program"
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Message != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
