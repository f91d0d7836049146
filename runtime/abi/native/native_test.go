package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The indices of the four imports in every guest of these tests.
const (
	fRead = iota
	fWrite
	fCall
	fClose
)

// guest returns a module whose mcp_handle is this code. Local 0 is the size of the request, locals 1 and 2 are free,
// of type i64 and i32. data is at 1024 in one page of memory.
func guest(data string, code ...[]byte) *w.Module {
	var m w.Module
	three := []byte{w.I32, w.I32, w.I32}
	m.Import("sallyport", "read", three, []byte{w.I32})
	m.Import("sallyport", "write", three, []byte{w.I32})
	m.Import("sallyport", "call", []byte{w.I32, w.I32}, []byte{w.I64})
	m.Import("sallyport", "close", []byte{w.I32}, []byte{w.I32})
	m.Memory(1, w.None)
	m.Data(1024, []byte(data))
	m.Export("mcp_handle", m.Func([]byte{w.I32}, []byte{w.I32}, []byte{w.I64, w.I32}, code...))
	return &m
}

// rw is read or write with constant arguments; the result stays on the stack.
func rw(f uint32, stream, ptr, size int32) []byte {
	return w.Code(w.I32Const(stream), w.I32Const(ptr), w.I32Const(size), w.Call(f))
}

// says returns a guest that responds with a text.
func says(answer string) *w.Module {
	return guest(answer, rw(fWrite, 1, 1024, int32(len(answer))), w.Drop, w.I32Const(0))
}

// echo returns a guest that responds with the request as the result.
func echo() *w.Module {
	const prefix = `{"result":`
	return guest(prefix+"}",
		rw(fWrite, 1, 1024, int32(len(prefix))), w.Drop,
		w.I32Const(0), w.I32Const(2048), w.LocalGet(0), w.Call(fRead), w.LocalSet(2),
		w.I32Const(1), w.I32Const(2048), w.LocalGet(2), w.Call(fWrite), w.Drop,
		rw(fWrite, 1, 1024+int32(len(prefix)), 1), w.Drop, w.I32Const(0))
}

// asks returns a guest that passes a request to "call" and responds with {"result":{"answer":…}}.
func asks(request string) *w.Module {
	const prefix = `{"result":{"answer":`
	return guest(prefix+"}}"+request,
		rw(fWrite, 1, 1024, int32(len(prefix))), w.Drop,
		w.I32Const(1024+int32(len(prefix))+2), w.I32Const(int32(len(request))), w.Call(fCall), w.LocalSet(1),
		// read(stream, 32768, size); the responses in these tests fit
		w.LocalGet(1), w.I64Const(32), w.I64Shr, w.I32Wrap, w.I32Const(32768), w.LocalGet(1), w.I32Wrap, w.Call(fRead), w.LocalSet(2),
		w.I32Const(1), w.I32Const(32768), w.LocalGet(2), w.Call(fWrite), w.Drop,
		rw(fWrite, 1, 1024+int32(len(prefix)), 2), w.Drop, w.I32Const(0))
}

// gate is the gate of a test's call, as a function.
type gate func(ctx context.Context, method string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error)

func (g gate) Ask(ctx context.Context, method string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	return g(ctx, method, params, s)
}

func pool(t testing.TB, m *w.Module, l runtime.Limits) *runtime.Pool {
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
	return runtime.NewPool(c, native.New(), &runtime.PoolOptions{Limits: l})
}

func call(t testing.TB, m *w.Module, g runtime.Gate) (string, error) {
	t.Helper()
	got, err := pool(t, m, runtime.Limits{}).Call(context.Background(), runtime.Request{Method: "m"}, g)
	return string(got), err
}

func wantEnd(t *testing.T, err error, kind runtime.Kind, text string) *runtime.EndError {
	t.Helper()
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != kind || !strings.Contains(end.Message, text) {
		t.Fatalf("got %v\nwant %s: %s", err, kind, text)
	}
	return end
}

func TestRecognises_theExportsOfTheDialect(t *testing.T) {
	for m, want := range map[*w.Module]bool{echo(): true, {}: false} {
		b, err := wasmbin.Read(m.Bytes())
		if err != nil || native.Recognises(b) != want {
			t.Errorf("got %v, %v; want %v, no error", !want, err, want)
		}
	}
	if native.New().Name() != "native" {
		t.Errorf("got name %q, want \"native\"", native.New().Name())
	}
}

func TestServe_carriesRequestAndAnswer(t *testing.T) {
	p := pool(t, echo(), runtime.Limits{})
	for _, c := range []struct {
		req  runtime.Request
		want string
	}{
		{runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"x","n":1e400}`)}, `{"method":"tools/call","params":{"name":"x","n":1e400}}`},
		{runtime.Request{Method: "plugin/describe"}, `{"method":"plugin/describe"}`},
		{runtime.Request{Method: "a\"b"}, `{"method":"a\"b"}`},
	} {
		got, err := p.Call(context.Background(), c.req, nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
}

// TestServe_reportsInvalidAnswers checks the exact error for every response without a valid result.
func TestServe_reportsInvalidAnswers(t *testing.T) {
	deep := `{"result":{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`
	for name, c := range map[string]struct{ answer, want string }{
		"nothing":       {"", "guest: the guest wrote no answer"},
		"not json":      {"hello", "guest: the guest's answer is not a JSON object: json: want an object, but got another value at offset 0"},
		"cut":           {`{"result":{}`, "guest: the guest's answer is not a JSON object: json: unexpected end at offset 12"},
		"two":           {`{"result":{}}{}`, "guest: the guest's answer is not a JSON object: json: data after the value at offset 13"},
		"utf-8":         {"{\"result\":{\"a\":\"\xff\"}}", "guest: the guest's answer is not a JSON object: json: invalid UTF-8 at offset 16"},
		"deep":          {deep, "guest: the guest's answer is not a JSON object: json: nesting deeper than 512"},
		"twice":         {`{"result":{},"result":{}}`, `guest: the guest's answer is not a JSON object: json: duplicate key "result"`},
		"neither":       {`{"ok":true}`, "guest: the guest's answer has neither a result nor an error"},
		"both":          {`{"result":{},"error":{"code":1,"message":""}}`, "guest: the guest's answer has both a result and an error"},
		"no object":     {`{"result":[1]}`, "guest: the guest's result is not an object"},
		"null":          {`{"result":null}`, "guest: the guest's result is not an object"},
		"error as text": {`{"error":"x"}`, "guest: the guest's error is not an object"},
		"no code":       {`{"error":{"message":"x"}}`, "guest: the guest's error has no code"},
		"long code":     {`{"error":{"code":4294967296,"message":"x"}}`, "guest: the guest's error has no code"},
		"no message":    {`{"error":{"code":1}}`, "guest: the guest's error has no message"},
	} {
		got, err := call(t, says(c.answer), nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, err, c.want)
		}
		wantEnd(t, err, runtime.KindGuest, "")
	}
	if got, err := call(t, says("\n {\"x\":1,\"result\" : {\"a\": 1.50} }\n"), nil); err != nil || got != `{"a": 1.50}` {
		t.Errorf("got %s, %v; want %s, no error", got, err, `{"a": 1.50}`)
	}
	_, err := call(t, says(`{"error":{"code":-32602,"message":"no tool \"x\"","data":{"a":[1]}}}`), nil)
	var guestErr *runtime.GuestError
	if !errors.As(err, &guestErr) || guestErr.Code != -32602 || guestErr.Message != `no tool "x"` || string(guestErr.Data) != `{"a":[1]}` {
		t.Errorf("got %#v, want a GuestError of -32602 with message and data", err)
	}
}

func TestServe_tellsEndingsApart(t *testing.T) {
	end := wantEnd(t, second(call(t, guest("", w.I32Const(7)), nil)), runtime.KindGuest, "the guest ended the call with error 7")
	if end.Code != 7 {
		t.Errorf("got %v, want 7", end.Code)
	}
	wantEnd(t, second(call(t, guest("", w.Unreachable), nil)), runtime.KindTrap, "unreachable")
	var wrong w.Module
	wrong.Export("mcp_handle", wrong.Func([]byte{w.I64}, nil, nil))
	wantEnd(t, second(call(t, &wrong, nil)), runtime.KindGuest, `the exported function "mcp_handle" has the type (i64) -> () instead of (i32) -> i32`)
}

func second(_ string, err error) error { return err }

// A response may have exactly the limit, also if its claimed length is a gigabyte or it is written in small pieces.
func TestServe_limitsOutput(t *testing.T) {
	answer := `{"result":{"a":1}}`
	fits := runtime.Limits{Output: len(answer)}
	if got, err := pool(t, says(answer), fits).Call(context.Background(), runtime.Request{}, nil); err != nil || string(got) != `{"a":1}` {
		t.Errorf("got %s, %v; want %s, no error", got, err, `{"a":1}`)
	}
	_, err := pool(t, says(answer), runtime.Limits{Output: len(answer) - 1}).Call(context.Background(), runtime.Request{}, nil)
	wantEnd(t, err, runtime.KindLimit, "the answer is over the limit of 17 bytes")

	pieces := guest("x", w.LoopVoid, rw(fWrite, 1, 1024, 1), w.BrIf(0), w.End, w.I32Const(0))
	wantEnd(t, second(call(t, pieces, nil)), runtime.KindLimit, "the answer is over the limit of 262144 bytes")

	var gigabyte w.Module
	gigabyte.Import("sallyport", "write", []byte{w.I32, w.I32, w.I32}, []byte{w.I32})
	gigabyte.Memory(16384, w.None)
	gigabyte.Export("mcp_handle", gigabyte.Func([]byte{w.I32}, []byte{w.I32}, nil, w.I32Const(1), w.I32Const(0), w.I32Const(1<<30), w.Call(0)))
	_, err = pool(t, &gigabyte, runtime.Limits{Memory: 2 << 30}).Call(context.Background(), runtime.Request{}, nil)
	wantEnd(t, err, runtime.KindLimit, "the answer is over the limit of 262144 bytes")
	wantEnd(t, second(call(t, &gigabyte, nil)), runtime.KindLimit, "the module starts with 1024 MiB of memory, and limits.memory is 64 MiB")
}

// TestHostFuncs_refuseAbsurdArguments calls every function with absurd arguments; the guest compares the result.
func TestHostFuncs_refuseAbsurdArguments(t *testing.T) {
	const end = 65536
	last := int32(-1)
	for name, c := range map[string]struct {
		code []byte
		want int32
	}{
		"read nothing":       {rw(fRead, 0, 0, 0), 0},
		"read at the end":    {rw(fRead, 0, end, 0), 0},
		"read behind":        {rw(fRead, 0, end+1, 0), -21},
		"read over the end":  {rw(fRead, 0, end-1, 2), -21},
		"read all of it":     {rw(fRead, 0, 0, end), 14},
		"read huge":          {rw(fRead, 0, 0, last), -21},
		"read wrapping":      {rw(fRead, 0, last, 2), -21},
		"read half of i32":   {rw(fRead, 0, -1<<31, -1<<31), -21},
		"read the response":  {rw(fRead, 1, 0, 1), -8},
		"read unknown":       {rw(fRead, 2, 0, 1), -8},
		"read minus one":     {rw(fRead, last, 0, 1), -8},
		"write nothing":      {rw(fWrite, 1, 0, 0), 0},
		"write at the end":   {rw(fWrite, 1, end, 0), 0},
		"write behind":       {rw(fWrite, 1, end+1, 0), -21},
		"write over the end": {rw(fWrite, 1, end-1, 2), -21},
		"write wrapping":     {rw(fWrite, 1, last, last), -21},
		"write the request":  {rw(fWrite, 0, 0, 1), -8},
		"write unknown":      {rw(fWrite, 7, 0, 1), -8},
		"close request":      {w.Code(w.I32Const(0), w.Call(fClose)), -8},
		"close response":     {w.Code(w.I32Const(1), w.Call(fClose)), -8},
		"close unknown":      {w.Code(w.I32Const(last), w.Call(fClose)), -8},
		"call behind":        {w.Code(w.I32Const(end), w.I32Const(1), w.Call(fCall), w.I32Wrap), -21},
		"call wrapping":      {w.Code(w.I32Const(last), w.I32Const(last), w.Call(fCall), w.I32Wrap), -21},
		"call high half":     {w.Code(w.I32Const(last), w.I32Const(last), w.Call(fCall), w.I64Const(32), w.I64Shr, w.I32Wrap), -1},
	} {
		t.Run(name, func(t *testing.T) {
			// The guest compares the result: 0 ends the call normally, any other number is its error code.
			m := guest("", c.code, w.I32Const(-c.want), w.I32Add)
			wantEnd(t, second(call(t, m, nil)), runtime.KindGuest, "the guest wrote no answer")
		})
	}
}

// Start-up code, which has no request, gets -ENOSYS.
func TestHostFuncs_returnENOSYSOutsideACall(t *testing.T) {
	for name, code := range map[string][]byte{
		"read": rw(fRead, 0, 0, 0), "write": rw(fWrite, 1, 0, 0),
		"call":  w.Code(w.I32Const(0), w.I32Const(0), w.Call(fCall), w.I32Wrap),
		"close": w.Code(w.I32Const(2), w.Call(fClose)),
	} {
		m := guest("", w.I32Const(0))
		m.Export("_initialize", m.Func(nil, nil, nil, code, w.I32Const(52), w.I32Add, w.IfVoid, w.Unreachable, w.End))
		if err := second(call(t, m, nil)); err == nil || !strings.Contains(err.Error(), "wrote no answer") {
			t.Errorf("%s: got %v, want \"wrote no answer\" in it", name, err)
		}
	}
}

func TestServe_endsAtTheDeadline(t *testing.T) {
	m := guest("", w.LoopVoid, w.Br(0), w.End, w.Unreachable)
	_, err := pool(t, m, runtime.Limits{Deadline: 20 * time.Millisecond}).Call(context.Background(), runtime.Request{}, nil)
	wantEnd(t, err, runtime.KindDeadline, "the guest did not answer in time")
}

func BenchmarkServe(b *testing.B) {
	p := pool(b, echo(), runtime.Limits{})
	req := runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"x","arguments":{"a":1,"b":"two","c":[3]}}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Call(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// warmed returns a guest whose mcp_warm is this code, and whose answer is the number at 16.
func warmed(code ...[]byte) *w.Module {
	const prefix = `{"result":{"n":`
	m := guest(prefix+"}}",
		rw(fWrite, 1, 1024, int32(len(prefix))), w.Drop,
		rw(fWrite, 1, 16, 4), w.Drop,
		rw(fWrite, 1, 1024+int32(len(prefix)), 2), w.Drop, w.I32Const(0))
	m.Data(16, []byte(`"no"`))
	m.Export("mcp_warm", m.Func(nil, []byte{w.I32}, nil, code...))
	return m
}

// equals pushes 1 if the i32 on the stack is n, else 0.
func equals(n int32) []byte { return w.Code(w.I32Const(n), []byte{0x46}) }

// The state that mcp_warm leaves is in every call, and no import can be used during it.
func TestServe_warmUp(t *testing.T) {
	hot := store(16, `"ok"`)
	ifAll := func(checks ...[]byte) []byte { // hot if all checks are 1
		code := w.I32Const(1)
		for _, c := range checks {
			code = w.Code(code, c, []byte{0x71})
		}
		return w.Code(code, []byte{0x04, 0x40}, hot, w.End, w.I32Const(0))
	}
	enosys := equals(-int32(native.ENOSYS))
	for name, c := range map[string]struct {
		m    *w.Module
		want string
	}{
		"warm":    {warmed(hot, w.I32Const(0)), `{"n":"ok"}`},
		"nothing": {echo(), `{"method":"m"}`},
		"imports": {warmed(ifAll(
			w.Code(rw(fRead, 0, 2048, 10), enosys),
			w.Code(rw(fWrite, 1, 2048, 10), enosys),
			w.Code(w.I32Const(2048), w.I32Const(10), w.Call(fCall), []byte{0xa7}, enosys),
			w.Code(w.I32Const(2), w.Call(fClose), enosys))), `{"n":"ok"}`},
		// The export is an ordinary function to the guest. Without a request, its imports fail.
		"calls mcp_handle": {warmed(ifAll(w.Code(w.I32Const(0), w.Call(4), equals(0)))), `{"n":"ok"}`},
		"trap":             {warmed(hot, w.Unreachable), `{"n":"no"}`},
	} {
		p := pool(t, c.m, runtime.Limits{})
		for range 2 {
			got, err := p.Call(t.Context(), runtime.Request{Method: "m"}, nil)
			if err != nil || string(got) != c.want {
				t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
			}
		}
	}
}
