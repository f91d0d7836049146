package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// Encoding and parsing a parsed message changes nothing, raw members are bytes of the input, and invalid input gets
// the right error code.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		envelope,
		`{"jsonrpc":"2.0","id":"a\u0062\ud800","method":"m\n","params":[ 1e400 , {"a":1,"a":2} ],"x":{ },"\u0000":null}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":-7,"result":{"content":[{"type":"text","text":"é😀"}]}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x","data":{"a": 1},"more":[]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
		`{"\u006asonrpc":"2.0","\u0069d":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, `[{"jsonrpc":"2.0","method":"m"}]`, `{`, `{}`, ``, "\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.Parse(data)
		if err != nil {
			checkRefusal(t, data, m, err)
			return
		}
		for _, raw := range [][]byte{m.ID, m.Params, m.Result} {
			if raw != nil && !bytes.Contains(data, raw) {
				t.Fatalf("%q: got %q, want a part of the message", data, raw)
			}
		}
		first := m.Append(nil)
		again, err := jsonrpc.Parse(first)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%q\nwritten as %q: got %+v, %v\nwant %+v", data, first, again, err, m)
		}
		if second := again.Append(nil); !bytes.Equal(first, second) {
			t.Fatalf("written again: got %q, want %q", second, first)
		}
	})
}

func checkRefusal(t *testing.T, data []byte, m jsonrpc.Message, err error) {
	t.Helper()
	e, ok := err.(*jsonrpc.Error)
	if !ok {
		t.Fatalf("got an error of type %T, want *jsonrpc.Error", err)
	}
	valid := json.Valid(data) && utf8.Valid(data)
	deep := bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 512
	if !deep && valid != (e.Code == jsonrpc.CodeInvalidRequest) {
		t.Fatalf("%q: got %v, want code %d only for valid JSON (valid: %v)", data, err, jsonrpc.CodeInvalidRequest, valid)
	}
	if m.ID != nil {
		if back, err := jsonrpc.Parse(jsonrpc.AppendError(nil, m.ID, e)); err != nil || !bytes.Equal(back.ID, m.ID) {
			t.Fatalf("an answer to %q does not parse: got %v, want no error", data, err)
		}
	}
}
