package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

func TestParse_readsEachKindOfMessage(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		in   string
		want jsonrpc.Message
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonrpc.Message{ID: raw(`1`), Method: "ping"}},
		{` { "jsonrpc" : "2.0" , "id" : "a\u0062" , "method" : "m" , "params" : { "x" : 1.0 } } `,
			jsonrpc.Message{ID: raw(`"a\u0062"`), Method: "m", Params: raw(`{ "x" : 1.0 }`)}},
		{`{"jsonrpc":"2.0","method":"n","params":[1]}`, jsonrpc.Message{Method: "n", Params: raw(`[1]`)}},
		{`{"jsonrpc":"2.0","id":-0,"result":null}`, jsonrpc.Message{ID: raw(`-0`), Result: raw(`null`)}},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":{}}`,
			jsonrpc.Message{ID: raw(`123456789012345678901234567890`), Result: raw(`{}`)}},
		{`{"jsonrpc":"2.0","id":"","error":{"code":-32601,"message":"n\u006f","data":[1]}}`,
			jsonrpc.Message{ID: raw(`""`), Error: &jsonrpc.Error{Code: -32601, Message: "no", Data: raw(`[1]`)}}},
		{`{"jsonrpc":"2.0","error":{"code":1,"message":""}}`, jsonrpc.Message{Error: &jsonrpc.Error{Code: 1}}},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x","hint":2}}`, jsonrpc.Message{Error: &jsonrpc.Error{
			Code: 1, Message: "x", Extra: jsonraw.Object{{Key: "hint", Value: raw(`2`)}}}}},
		{`{"\u006asonrpc":"2\u002e0","\u0069d":7,"m\u0065thod":"p\u0069ng","x":[ ],"y\n":1}`, jsonrpc.Message{ID: raw(`7`),
			Method: "ping", Extra: jsonraw.Object{{Key: "x", Value: raw(`[ ]`)}, {Key: "y\n", Value: raw(`1`)}}}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"s":"\ud800","a":1,"a":2}}`,
			jsonrpc.Message{ID: raw(`1`), Method: "m", Params: raw(`{"s":"\ud800","a":1,"a":2}`)}},
	} {
		got, err := jsonrpc.Parse([]byte(c.in))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%s)\n got %+v, %v\nwant %+v", c.in, got, err, c.want)
		}
	}
}

func TestParse_refusesMalformedMessages(t *testing.T) {
	const badID = "invalid request: id must be a string or an integer"
	many := strings.Repeat(`,"x":0`, 1)
	for i := range 64 {
		many += fmt.Sprintf(`,"x%d":0`, i)
	}
	for _, c := range []struct {
		in   string
		code int
		id   string
		want string
	}{
		{``, jsonrpc.CodeParse, "", "parse error: json: unexpected end at offset 0"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"`, jsonrpc.CodeParse, "", "parse error: json: unexpected end at offset 36"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"} x`, jsonrpc.CodeParse, "", "parse error: json: data after the value at offset 38"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", jsonrpc.CodeParse, "", "parse error: json: invalid UTF-8 at offset 34"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,]}}`, jsonrpc.CodeParse, "", "parse error: json: invalid character at offset 54"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat(`[`, 512) + strings.Repeat(`]`, 512) + `}`,
			jsonrpc.CodeParse, "", "parse error: json: nesting deeper than 512 at offset 557"},
		{`[1,`, jsonrpc.CodeParse, "", "parse error: json: unexpected end at offset 3"},
		{`[]`, jsonrpc.CodeInvalidRequest, "", "invalid request: a message must be an object"},
		{`"x"`, jsonrpc.CodeInvalidRequest, "", "invalid request: a message must be an object"},
		{`{}`, jsonrpc.CodeInvalidRequest, "", `invalid request: jsonrpc must be "2.0"`},
		{`{"id":1,"method":"m"}`, jsonrpc.CodeInvalidRequest, "1", `invalid request: jsonrpc must be "2.0"`},
		{`{"jsonrpc":"1.0","id":1,"method":"m"}`, jsonrpc.CodeInvalidRequest, "1", `invalid request: jsonrpc must be "2.0"`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, jsonrpc.CodeInvalidRequest, "1", `invalid request: jsonrpc must be "2.0"`},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":[1],"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","result":1}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":null,"result":1}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":"x"}}`, jsonrpc.CodeInvalidRequest, "", badID},
		{`{"jsonrpc":"2.0","id":1}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: method is missing"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: method must be a string, and not empty"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: method must be a string, and not empty"},
		{`{"jsonrpc":"2.0","id":1,"method":null,"result":1}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: method must be a string, and not empty"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: params must be an object or an array"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: params must be an object or an array"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: a message cannot be a request and a response at once"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":""}}`, jsonrpc.CodeInvalidRequest, "1",
			"invalid request: a message cannot be a request and a response at once"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`, jsonrpc.CodeInvalidRequest, "1",
			"invalid request: a response cannot have both a result and an error"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"params":{}}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: params without a method"},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: error must be an object without duplicate members"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":1,"message":""}}`, jsonrpc.CodeInvalidRequest, "1",
			"invalid request: error must be an object without duplicate members"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: error.code must be an integer"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":99999999999,"message":""}}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: error.code must be an integer"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: error.message must be a string"},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, jsonrpc.CodeInvalidRequest, "", "invalid request: duplicate member id"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","id":2,"id":3}`, jsonrpc.CodeInvalidRequest, "", "invalid request: duplicate member id"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: duplicate member method"},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: duplicate member jsonrpc"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":1}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: duplicate member x"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"` + many + `}`, jsonrpc.CodeInvalidRequest, "1", "invalid request: too many unknown members"},
		{`{"x":1,"method":7,"id":"late"}`, jsonrpc.CodeInvalidRequest, `"late"`, "invalid request: method must be a string, and not empty"},
	} {
		m, err := jsonrpc.Parse([]byte(c.in))
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Message != c.want {
			t.Errorf("Parse(%.90s)\n got %v\nwant %s (%d)", c.in, err, c.want, c.code)
		}
		if !reflect.DeepEqual(m, jsonrpc.Message{ID: m.ID}) || string(m.ID) != c.id || (m.ID == nil) != (c.id == "") {
			t.Errorf("Parse(%.90s) carries %+v, want only the id %q", c.in, m, c.id)
		}
	}
}

func TestMessage_isOfOneKind(t *testing.T) {
	for _, c := range []struct {
		in                              string
		request, notification, response bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"m"}`, true, false, false},
		{`{"jsonrpc":"2.0","method":"m"}`, false, true, false},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, false, false, true},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, false, false, true},
	} {
		m, err := jsonrpc.Parse([]byte(c.in))
		if err != nil || m.IsRequest() != c.request || m.IsNotification() != c.notification || m.IsResponse() != c.response {
			t.Errorf("%s: got %v %v %v, %v; want %v %v %v, no error",
				c.in, m.IsRequest(), m.IsNotification(), m.IsResponse(), err, c.request, c.notification, c.response)
		}
	}
	var zero jsonrpc.Message
	if zero.IsRequest() || zero.IsNotification() || zero.IsResponse() {
		t.Errorf("zero message: got request %v, notification %v, response %v; want false", zero.IsRequest(), zero.IsNotification(), zero.IsResponse())
	}
}

func TestAppend_writesResultsAndErrors(t *testing.T) {
	id, result := json.RawMessage(`"a"`), json.RawMessage(`{"x": 1.0}`)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "say \"no\"\n", Data: json.RawMessage(`[1]`)}
	for _, c := range []struct{ got, want string }{
		{string(jsonrpc.AppendResult([]byte("> "), id, result)), `> {"jsonrpc":"2.0","id":"a","result":{"x": 1.0}}`},
		{string(jsonrpc.AppendResult(nil, id, nil)), `{"jsonrpc":"2.0","id":"a","result":{}}`},
		{string(jsonrpc.AppendError(nil, id, e)), `{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"say \"no\"\n","data":[1]}}`},
		{string(jsonrpc.AppendError(nil, nil, &jsonrpc.Error{Code: -1})), `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}`},
		{string(jsonrpc.AppendNotification(nil, "n", nil)), `{"jsonrpc":"2.0","method":"n"}`},
		{string(jsonrpc.AppendNotification(nil, "n", json.RawMessage(`{}`))), `{"jsonrpc":"2.0","method":"n","params":{}}`},
	} {
		if c.got != c.want {
			t.Errorf("got %s\nwant %s", c.got, c.want)
		}
	}
	if got := e.Error(); got != "say \"no\"\n (-32602)" {
		t.Errorf("Error() = %q, want the message with -32602", got)
	}
}

func TestSplitBatch_refusesEmptyAndLargeBatches(t *testing.T) {
	list, err := jsonrpc.SplitBatch([]byte(` [ {"a": 1} , 2 ] `))
	if err != nil || len(list) != 2 || string(list[0]) != `{"a": 1}` || string(list[1]) != `2` {
		t.Errorf("got %s, %v; want two messages, no error", list, err)
	}
	for _, c := range []struct {
		in   string
		code int
		want string
	}{
		{`[]`, jsonrpc.CodeInvalidRequest, "invalid request: an empty batch"},
		{`{}`, jsonrpc.CodeInvalidRequest, "invalid request: a batch must be an array"},
		{`[1,`, jsonrpc.CodeParse, "parse error: json: unexpected end at offset 3"},
		{`[1]]`, jsonrpc.CodeParse, "parse error: json: data after the value at offset 3"},
		{``, jsonrpc.CodeParse, "parse error: json: unexpected end at offset 0"},
		{`[1` + strings.Repeat(`,1`, 1024) + `]`, jsonrpc.CodeInvalidRequest, "invalid request: too many messages in one batch"},
	} {
		var e *jsonrpc.Error
		if list, err := jsonrpc.SplitBatch([]byte(c.in)); !errors.As(err, &e) || e.Code != c.code || e.Message != c.want || list != nil {
			t.Errorf("SplitBatch(%.20s) = %s, %v, want %s (%d)", c.in, list, err, c.want, c.code)
		}
	}
}

func TestIsBatch_looksAtTheFirstBracket(t *testing.T) {
	for in, want := range map[string]bool{`[]`: true, " \r\n\t[": true, `{}`: false, ` {"a":[]}`: false, ``: false, ` `: false} {
		if jsonrpc.IsBatch([]byte(in)) != want {
			t.Errorf("IsBatch(%q) = %v", in, !want)
		}
	}
}

func TestParse_allocatesOnlyTheMethod(t *testing.T) {
	raw := []byte(envelope)
	if n := testing.AllocsPerRun(100, func() { _, _ = jsonrpc.Parse(raw) }); n > 1 {
		t.Errorf("Parse: got %v allocations, want at most 1", n)
	}
}

// envelope is a tools/call of 150 bytes.
const envelope = `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"time-now",` +
	`"arguments":{"zone":"Europe/Berlin","format":"RFC3339","round":true,"n":1}}}`

func BenchmarkParse(b *testing.B) {
	raw := []byte(envelope)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = jsonrpc.Parse(raw)
	}
}

func BenchmarkAppendResult(b *testing.B) {
	id, result := json.RawMessage(`12345`), json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = jsonrpc.AppendResult(dst[:0], id, result)
	}
}
