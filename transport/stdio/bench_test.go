package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// The benchmarks compare Serve with a minimal baseline: a buffered line read, one decoding of the envelope, a map
// lookup and a fixed response.

var prepared = map[string]json.RawMessage{"echo": json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)}

func answerPrepared(m *jsonrpc.Message) []byte {
	name, _ := jsonraw.String(jsonraw.Get(m.Params, "name"))
	return jsonrpc.AppendResult(nil, m.ID, prepared[name])
}

// preparedConn is a connection that does the work of the baseline.
type preparedConn struct{}

func (preparedConn) Handle(_ context.Context, m *jsonrpc.Message, _ func([]byte)) protocol.Response {
	return protocol.Response{Body: answerPrepared(m)}
}
func (preparedConn) EndSubscriptions() {}
func (preparedConn) HandleBatch(context.Context, []byte, func([]byte)) protocol.Response {
	return protocol.Response{}
}
func (preparedConn) Close() {}

func serveFloor(in io.Reader, out io.Writer) {
	w := bufio.NewWriter(out)
	for r := bufio.NewReaderSize(in, chunkSize); ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Parse(line)
		if err != nil {
			return
		}
		w.Write(answerPrepared(&m))
		w.WriteByte('\n')
		if r.Buffered() == 0 {
			w.Flush()
		}
	}
}

func servePrepared(in io.Reader, out io.Writer) {
	connect := func(func([]byte)) conn { return preparedConn{} }
	serve(context.Background(), connect, in, out, new(Options).withDefaults())
}

func BenchmarkRoundTrip(b *testing.B) { compare(b, 1) }

func BenchmarkPipelined(b *testing.B) { compare(b, 64) }

// compare runs the baseline, the transport alone, and the complete path to an in-process plugin.
func compare(b *testing.B, depth int) {
	b.Run("floor", func(b *testing.B) { roundTrips(b, serveFloor, depth) })
	b.Run("transport", func(b *testing.B) { roundTrips(b, servePrepared, depth) })
	b.Run("all", func(b *testing.B) {
		srv, _, _ := realServer(b)
		roundTrips(b, func(in io.Reader, out io.Writer) { Serve(context.Background(), srv, in, out, nil) }, depth)
	})
}

// roundTrips sends depth requests at a time over operating system pipes and reads the responses.
func roundTrips(b *testing.B, serve func(io.Reader, io.Writer), depth int) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(inR, outW)
	}()
	var batch []byte
	for i := range depth {
		batch = fmt.Appendf(batch, "%s\n", request(i+1, "tools/call", `{"name":"echo","arguments":{"text":"hello"}}`))
	}
	answers := bufio.NewReaderSize(outR, chunkSize)
	fmt.Fprintln(inW, request(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`))
	if _, err := answers.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for sent := 0; sent < b.N; sent += depth {
		inW.Write(batch)
		for range depth {
			if _, err := answers.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.StopTimer()
	inW.Close()
	<-done
	outW.Close()
}
