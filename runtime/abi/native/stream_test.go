package native_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

const openRequest = `{"method":"stream/open","params":{"limit":10}}`

// writes returns a guest that opens stream 2 (its response is stream 3), writes n bytes of the answer to it, and
// responds.
func writes(n int32, answer string) *w.Module {
	return guest(openRequest+answer,
		w.I32Const(1024), w.I32Const(int32(len(openRequest))), w.Call(fCall), w.Drop,
		rw(fWrite, 2, 1024, n), w.LocalSet(2),
		rw(fWrite, 1, 1024+int32(len(openRequest)), int32(len(answer))), w.Drop,
		// a failed write ends the call with its error number
		w.LocalGet(2), w.I32Const(0), []byte{0x48}, w.IfVoid, w.I32Const(0), w.LocalGet(2), []byte{0x6b}, w.Return, w.End,
		w.I32Const(0))
}

// A written stream is inserted into the content as base64.
func TestServe_insertsStreamsAsBase64(t *testing.T) {
	b64 := `"` + base64.StdEncoding.EncodeToString([]byte(openRequest[:10])) + `"`
	const ref = `{"dev.sallyport/stream":2}`
	for _, shape := range []string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":%s,"mimeType":"image/png"}],"x":1}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":%s}}]}`,
		`{"contents":[{"uri":"a:b","blob":%s}]}`,
		`{"messages":[{"role":"user","content":{"type":"audio","data":%s}}]}`,
	} {
		got, err := call(t, writes(10, `{"result":`+fmt.Sprintf(shape, ref)+`}`), nil)
		if err != nil || got != fmt.Sprintf(shape, b64) {
			t.Errorf("got %s, %v; want %s, no error", got, err, fmt.Sprintf(shape, b64))
		}
	}
	for _, shape := range []string{
		`{"structuredContent":{"data":%s}}`, `{"content":[{"type":"text","text":"a","_meta":%s}]}`, `{"content":%s}`, `{"data":%s}`,
	} {
		if got, err := call(t, writes(10, `{"result":`+fmt.Sprintf(shape, ref)+`}`), nil); err != nil || got != fmt.Sprintf(shape, ref) {
			t.Errorf("only where bytes may stand: got %s, %v; want %s, no error", got, err, fmt.Sprintf(shape, ref))
		}
	}
	for answer, want := range map[string]string{
		`{"content":[{"data":{"dev.sallyport/stream":3}}]}`:                                     "the guest's content names a stream: invalid: stream 3 is not one that this call opened for writing, or it was used already",
		`{"content":[{"data":{"dev.sallyport/stream":99}}]}`:                                    "the guest's content names a stream: invalid: stream 99 is not one",
		`{"content":[{"data":{"dev.sallyport/stream":2}},{"data":{"dev.sallyport/stream":2}}]}`: "invalid: stream 2 is not one that this call opened for writing, or it was used already",
		`{"content":[{"data":{"dev.sallyport/stream":-1}}]}`:                                    "the guest's content holds an object instead of bytes or a stream",
		`{"content":[{"data":{"other":1}}]}`:                                                    "the guest's content holds an object instead of bytes or a stream",
		`{"content":[{"resource":{"blob":{"dev.sallyport/stream":"2"}}}]}`:                      "the guest's content holds an object instead of bytes or a stream",
	} {
		wantEnd(t, second(call(t, writes(10, `{"result":`+answer+`}`), nil)), runtime.KindGuest, want)
	}
}

// Base64 counts as output.
func TestServe_countsStreamsAsOutput(t *testing.T) {
	answer := `{"result":{"content":[{"data":{"dev.sallyport/stream":2}}]}}`
	_, err := pool(t, writes(10, answer), runtime.Limits{Output: len(answer)}).Call(context.Background(), runtime.Request{}, nil)
	wantEnd(t, err, runtime.KindLimit, fmt.Sprintf("the answer is over the limit of %d bytes", len(answer)))
}

func TestStreams_writeAcceptsDataUntilClosed(t *testing.T) {
	wantEnd(t, second(call(t, writes(11, `{}`), nil)), runtime.KindGuest, "the guest ended the call with error 22") // EFBIG
	if _, err := call(t, writes(0, `{"result":{}}`), nil); err != nil {
		t.Error(err)
	}
	// All streams together hold 8 MiB: the last byte of the second one is rejected.
	const open = `{"method":"stream/open"}`
	m := guest(open,
		w.I32Const(1024), w.I32Const(int32(len(open))), w.Call(fCall), w.Drop, // stream 2, its response is 3
		w.I32Const(1024), w.I32Const(int32(len(open))), w.Call(fCall), w.Drop, // stream 4
		w.I32Const(64), w.MemoryGrow, w.Drop,
		rw(fWrite, 2, 0, 4<<20), w.Drop, rw(fWrite, 4, 0, 4<<20), w.Drop,
		rw(fWrite, 4, 0, 1), w.I32Const(51), w.I32Add, w.IfVoid, w.I32Const(1), w.Return, w.End, // ENOSPC
		w.I32Const(2), w.Call(fClose), w.IfVoid, w.I32Const(2), w.Return, w.End,
		rw(fWrite, 4, 0, 1), w.I32Const(-1), w.I32Add, w.IfVoid, w.I32Const(3), w.Return, w.End,
		rw(fWrite, 2, 0, 1), w.I32Const(8), w.I32Add, w.IfVoid, w.I32Const(4), w.Return, w.End, // closed: EBADF
		rw(fRead, 4, 0, 1), w.I32Const(8), w.I32Add, w.IfVoid, w.I32Const(5), w.Return, w.End, // written, not read
		rw(fWrite, 3, 0, 1), w.I32Const(8), w.I32Add, w.IfVoid, w.I32Const(6), w.Return, w.End, // read, not written
		w.I32Const(0))
	wantEnd(t, second(call(t, m, nil)), runtime.KindGuest, "the guest wrote no answer")
}

// Unclosed responses are bounded on the host.
func TestStreams_boundsUnclosedResponses(t *testing.T) {
	m := guest(`{"method":"a"}`,
		// three responses of 3 MiB: a short error replaces the third
		w.Repeat(3, w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.LocalSet(1)),
		w.LocalGet(1), w.I32Wrap, w.I32Const(1000), []byte{0x4a}, w.IfVoid, w.I32Const(1), w.Return, w.End, // i32.gt_s
		w.I32Const(3), w.Call(fClose), w.Drop,
		w.I32Const(1024), w.I32Const(14), w.Call(fCall), w.I32Wrap, w.I32Const(1000), []byte{0x48})
	_, err := call(t, m, gate(func(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
		return json.RawMessage(`"` + strings.Repeat("x", 3<<20) + `"`), nil
	}))
	wantEnd(t, err, runtime.KindGuest, "the guest wrote no answer")
}

// The gate gets the bytes written by the guest, once.
func TestStreams_takeGivesTheGateTheBytesOnce(t *testing.T) {
	const ask = `{"method":"http/fetch","params":{}}`
	m := guest(openRequest+ask,
		w.I32Const(1024), w.I32Const(int32(len(openRequest))), w.Call(fCall), w.Drop,
		rw(fWrite, 2, 1024, 10), w.Drop,
		w.I32Const(1024+int32(len(openRequest))), w.I32Const(int32(len(ask))), w.Call(fCall), w.Drop,
		rw(fWrite, 2, 1024, 1), w.I32Const(8), w.I32Add) // it was taken: EBADF
	var took string
	_, err := call(t, m, gate(func(_ context.Context, method string, _ json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
		r, size, err := s.Take(2)
		if err != nil || size != 10 || method != "http/fetch" {
			t.Errorf("got %q of %d bytes, %v; want \"http/fetch\" of 10, no error", method, size, err)
			return nil, nil
		}
		p, _ := io.ReadAll(r)
		took = string(p)
		for _, id := range []uint32{0, 1, 2, 3, 4, 1 << 31} {
			var refused *runtime.AskError
			if _, _, err := s.Take(id); !errors.As(err, &refused) || refused.Kind != runtime.KindInvalid {
				t.Errorf("stream %d: got %v, want an AskError of the kind %s", id, err, runtime.KindInvalid)
			}
		}
		return nil, nil
	}))
	wantEnd(t, err, runtime.KindGuest, "the guest wrote no answer")
	if took != openRequest[:10] {
		t.Errorf("got %q taken, want %q", took, openRequest[:10])
	}
}

// The streams of an ended call are unusable for a gate.
func TestStreams_areUnusableAfterTheCall(t *testing.T) {
	var kept runtime.Streams
	_, err := call(t, asks(`{"method":"a"}`), gate(func(_ context.Context, _ string, _ json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
		kept = s
		return nil, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	open := 1
	if _, err := kept.Open(opened{strings.NewReader(""), &open}); err == nil || open != 0 {
		t.Errorf("got %v, %v; want an error, 0", err, open)
	}
	if _, _, err := kept.Take(2); err == nil {
		t.Error("Take after the end: got no error, want one")
	}
}
