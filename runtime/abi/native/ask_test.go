package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// teller returns the request as its result; some methods fail.
func teller(_ context.Context, method string, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	switch method {
	case "denied":
		return nil, fmt.Errorf("gate: %w", &runtime.AskError{Kind: runtime.KindDenied, Message: `no grant for "x"`, Hint: "sallyport allow x", RetryAfterMs: 50})
	case "nothing":
		return nil, nil
	case "large":
		return json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`), nil
	}
	return json.RawMessage(fmt.Sprintf(`{"method":%q,"params":%s,"given":%t}`, method, append([]byte("null"), params...)[min(4, 4*len(params)):], params != nil)), nil
}

func TestCall_returnsTheGatesAnswer(t *testing.T) {
	const code = `{"error":{"code":-32000,"message":`
	invalid := func(message string) string { return code + message + `,"data":{"kind":"invalid"}}}` }
	for request, want := range map[string]string{
		`{"method":"a","params":{"b":1.50}}`: `{"result":{"method":"a","params":{"b":1.50},"given":true}}`,
		` { "method" : "a" , "id":1 } `:      `{"result":{"method":"a","params":null,"given":false}}`,
		`{"method":"a","params":null}`:       `{"result":{"method":"a","params":null,"given":false}}`,
		`{"method":"nothing"}`:               `{"result":{}}`,
		`{"method":"denied"}`:                code + `"no grant for \"x\"","data":{"kind":"denied","hint":"sallyport allow x","retryAfterMs":50}}}`,
		`{"method":"large"}`:                 code + `"the answer has 5242882 bytes, at most 4194304 are allowed","data":{"kind":"limit"}}}`,
		``:                                   invalid(`"the request is not a JSON object: json: unexpected end at offset 0"`),
		`hello`:                              invalid(`"the request is not a JSON object: json: want an object, but got another value at offset 0"`),
		`{"method":"a"`:                      invalid(`"the request is not a JSON object: json: unexpected end at offset 13"`),
		`{"method":"a","method":"b"}`:        invalid(`"the request is not a JSON object: json: duplicate key \"method\""`),
		"{\"method\":\"\xff\"}":              invalid(`"the request is not a JSON object: json: invalid UTF-8 at offset 11"`),
		`{}`:                                 invalid(`"the request has no method"`),
		`{"method":7}`:                       invalid(`"the request has no method"`),
		`{"method":""}`:                      invalid(`"the request has no method"`),
		`{"method":"a","params":[1]}`:        invalid(`"the params of \"a\" are not an object"`),
		`[]`:                                 `[]`,
		`[{"method":"nothing"},7,{"method":"x"}]`: `[{"result":{}},` + invalid(`"the request is not a JSON object: json: want an object, but got another value at offset 0"`) + `,{"result":{"method":"x","params":null,"given":false}}]`,
		`[1`:                                    invalid(`"the request is not JSON: json: unexpected end at offset 2"`),
		`[` + strings.Repeat(`{},`, 64) + `{}]`: code + `"a round has 65 requests, at most 64 are allowed","data":{"kind":"limit"}}}`,
		`{"method":"stream/open","params":{"limit":-1}}`:      invalid(`"the limit of a stream is a number of bytes"`),
		`{"method":"stream/open","params":{"limit":"x"}}`:     invalid(`"the limit of a stream is a number of bytes"`),
		`{"method":"stream/open","params":{"limit":9000000}}`: code + `"a stream holds at most 8388608 bytes","data":{"kind":"limit"}}}`,
		`{"method":"stream/open"}`:                            `{"result":{"dev.sallyport/stream":2}}`,
	} {
		got, err := call(t, asks(request), gate(teller))
		if err != nil || got != `{"answer":`+want+`}` {
			t.Errorf("%.60s:\n got %s, %v\nwant {\"answer\":%s}", request, got, err, want)
		}
	}
	got, err := call(t, asks(`{"method":"a"}`), nil)
	if err != nil || got != `{"answer":`+code+`"nothing can be asked here","data":{"kind":"unsupported"}}}}` {
		t.Errorf("without a gate: got %s, %v; want an error of kind unsupported", got, err)
	}
}

// A request over the limit is rejected before it is parsed.
func TestCall_refusesLongRequestsUnparsed(t *testing.T) {
	m := guest(`{"result":{"answer":}}`,
		rw(fWrite, 1, 1024, 20), w.Drop,
		w.I32Const(20), w.MemoryGrow, w.Drop,
		w.I32Const(0), w.I32Const(1<<20+1), w.Call(fCall), w.LocalSet(1),
		w.I32Const(2), w.I32Const(32768), w.LocalGet(1), w.I32Wrap, w.Call(fRead), w.LocalSet(2),
		w.I32Const(1), w.I32Const(32768), w.LocalGet(2), w.Call(fWrite), w.Drop,
		rw(fWrite, 1, 1044, 2), w.Drop, w.I32Const(0))
	got, err := call(t, m, nil)
	want := `{"answer":{"error":{"code":-32000,"message":"a request has 1048577 bytes, at most 1048576 are allowed","data":{"kind":"limit"}}}}`
	if err != nil || got != want {
		t.Errorf("got %s, %v; want %s, no error", got, err, want)
	}
}

// A gate error without an AskError ends the call, and is not shown to the client.
func TestCall_hidesFaultsOfTheHost(t *testing.T) {
	secret := errors.New("/home/someone: no space left")
	_, err := call(t, asks(`{"method":"a"}`), gate(func(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
		return nil, secret
	}))
	end := wantEnd(t, err, runtime.KindInternal, "the host failed while it served this call")
	if !errors.Is(end, secret) || strings.Contains(end.Message, "someone") {
		t.Errorf("got %v with the message %q, want the error within, and its text nowhere in the message", end, end.Message)
	}
}

// The guest sees -ECANCEL, and the call ends as cancelled.
func TestCall_returnsECANCELWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := guest(`{"method":"a"}`,
		w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.I32Wrap, w.I32Const(11), w.I32Add, w.IfVoid, w.Unreachable, w.End,
		w.LoopVoid, w.Br(0), w.End, w.Unreachable)
	_, err := pool(t, m, runtime.Limits{}).Call(ctx, runtime.Request{}, gate(func(ctx context.Context, _ string, _ json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	wantEnd(t, err, runtime.KindCancelled, "the call was cancelled")
}

// opened counts readers that were opened and not closed.
type opened struct {
	io.Reader
	n *int
}

func (o opened) Close() error { *o.n--; return nil }

// The 65th stream is rejected before the request is performed, and all streams are closed with the call.
func TestCall_boundsTheOpenStreams(t *testing.T) {
	asked, open := 0, 0
	m := guest(`{"method":"a"}`,
		w.LoopVoid,
		w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.I32Wrap, w.I32Const(0), []byte{0x4e}, // i32.ge_s: until it fails
		w.BrIf(0), w.End,
		w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.I32Wrap, w.I32Const(33), w.I32Add)
	_, err := call(t, m, gate(func(_ context.Context, _ string, _ json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
		asked++
		open++
		if _, err := s.Open(opened{strings.NewReader("x"), &open}); err != nil {
			var refused *runtime.AskError
			if !errors.As(err, &refused) || refused.Kind != runtime.KindLimit {
				t.Error(err)
			}
		}
		return nil, nil
	}))
	wantEnd(t, err, runtime.KindGuest, "wrote no answer") // so the guest saw -EMFILE
	if asked != 32 || open != 0 {
		t.Errorf("got %d questions, %d streams open; want 32, 0", asked, open)
	}
}

// A body of the gate is read to its end, or to its failure.
func TestStreams_readToTheEndOrFailure(t *testing.T) {
	for name, c := range map[string]struct {
		r    io.Reader
		want string
	}{
		"body":   {strings.NewReader(`{"result":{"body":true}}`), `{"body":true}`},
		"pieces": {io.MultiReader(strings.NewReader(`{"result":`), strings.NewReader(`{}}`)), `{}`},
		"broken": {io.MultiReader(strings.NewReader(`{`), broken{}), "guest ended the call with error 29"},
		"stuck":  {stuck{}, "guest ended the call with error 29"},
	} {
		t.Run(name, func(t *testing.T) {
			open := 1
			g := gate(func(_ context.Context, _ string, _ json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
				id, err := s.Open(opened{c.r, &open})
				if id != 2 || err != nil {
					t.Errorf("got %v, %v; want 2, no error", id, err)
				}
				return nil, nil
			})
			// copies stream 2 to the response; a failed read ends with its error number
			m := guest(`{"method":"a"}`,
				w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.Drop,
				w.LoopVoid,
				rw(fRead, 2, 2048, 1000), []byte{0x22, 2}, w.I32Const(0), []byte{0x48}, // local.tee 2; i32.lt_s
				w.IfVoid, w.I32Const(0), w.LocalGet(2), []byte{0x6b}, w.Return, w.End, // i32.sub
				w.I32Const(1), w.I32Const(2048), w.LocalGet(2), w.Call(fWrite), w.BrIf(0),
				w.End,
				w.I32Const(2), w.Call(fClose))
			got, err := call(t, m, g)
			if got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
			if open != 0 {
				t.Errorf("got %d streams open, want 0", open)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
