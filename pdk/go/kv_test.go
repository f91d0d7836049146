package sallyport_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

// recorder answers each method with a JSON text, and appends the requests to sent.
func recorder(sent *[]string, answers map[string]string) func(h *sallyporttest.Host) {
	return func(h *sallyporttest.Host) {
		for method, answer := range answers {
			h.Answer(method, func(p json.RawMessage) (any, error) {
				*sent = append(*sent, method+string(p))
				return json.RawMessage(answer), nil
			})
		}
	}
}

func TestKV_hasTypedValues(t *testing.T) {
	type counter struct{ N int }
	var sent []string
	prepare := recorder(&sent, map[string]string{
		"kv/get": `{"value":{"N":7},"version":3}`, "kv/set": `{"version":-1}`, "kv/delete": `{}`, "kv/list": `{"keys":[{"key":"a","version":3}],"more":true}`,
	})
	_, r := run(t, prepare, func(c *sallyport.Call) (any, error) {
		if got, version, err := sallyport.KVGet[counter](c, "a"); got.N != 7 || version != 3 || err != nil {
			t.Errorf("KVGet: got %v, %d, %v; want {7}, 3", got, version, err)
		}
		if version, err := sallyport.KVSet(c, "a", counter{8}, sallyport.IfVersion(3), sallyport.TTL(time.Second)); version != -1 || err != nil {
			t.Errorf("KVSet: got %d, %v; want -1", version, err)
		}
		if keys, more, err := sallyport.KVList(c, "p", "q", 5); !reflect.DeepEqual(keys, []sallyport.KVKey{{Key: "a", Version: 3}}) || !more || err != nil {
			t.Errorf("KVList: got %v, %v, %v; want a of version 3, and more", keys, more, err)
		}
		return nil, sallyport.KVDelete(c, "a", sallyport.IfVersion(0))
	})
	want := []string{
		`kv/get{"key":"a"}`, `kv/set{"key":"a","value":{"N":8},"ifVersion":3,"ttlMs":1000}`,
		`kv/list{"prefix":"p","after":"q","limit":5}`, `kv/delete{"key":"a","ifVersion":0}`,
	}
	if r.IsError || !reflect.DeepEqual(sent, want) {
		t.Errorf("got %s, requests %q, want %q", r.Raw, sent, want)
	}
}

func TestKVGet_absentKeyIsVersionZero(t *testing.T) {
	var sent []string
	run(t, recorder(&sent, map[string]string{"kv/get": `{"value":null,"version":0}`}), func(c *sallyport.Call) (any, error) {
		if got, version, err := sallyport.KVGet[string](c, "a"); got != "" || version != 0 || err != nil {
			t.Errorf("got %q, %d, %v; want none, 0", got, version, err)
		}
		return nil, nil
	})
}

func TestCallTool_decodesByTheResultType(t *testing.T) {
	type sum struct{ Total int }
	var sent []string
	structured := recorder(&sent, map[string]string{"tools/call": `{"content":[{"type":"text","text":"{\"Total\":1}"}],"structuredContent":{"Total":2}}`})
	run(t, structured, func(c *sallyport.Call) (any, error) {
		if got, err := sallyport.CallTool[sum](c, "sum", map[string]int{"a": 1}); got.Total != 2 || err != nil {
			t.Errorf("struct: got %v, %v; want {2}", got, err)
		}
		if got, err := sallyport.CallTool[string](c, "sum", nil); got != `{"Total":1}` || err != nil {
			t.Errorf("string: got %q, %v; want the text", got, err)
		}
		if got, err := sallyport.CallTool[sallyport.Result](c, "sum", nil); len(got.Content) != 1 || err != nil {
			t.Errorf("Result: got %v, %v; want one block", got, err)
		}
		return nil, nil
	})
	if want := `tools/call{"name":"sum","arguments":{"a":1}}`; sent[0] != want {
		t.Errorf("got request %s, want %s", sent[0], want)
	}
	plain := recorder(&sent, map[string]string{"tools/call": `{"content":[{"type":"text","text":"{\"Total\":1}"}]}`})
	run(t, plain, func(c *sallyport.Call) (any, error) {
		if got, err := sallyport.CallTool[sum](c, "sum", nil); got.Total != 1 || err != nil {
			t.Errorf("text: got %v, %v; want {1}", got, err)
		}
		return nil, nil
	})
}

func TestCallTool_failedToolIsAnError(t *testing.T) {
	var sent []string
	failed := recorder(&sent, map[string]string{"tools/call": `{"content":[{"type":"text","text":"no"}],"isError":true}`})
	run(t, failed, func(c *sallyport.Call) (any, error) {
		_, err := sallyport.CallTool[string](c, "sum", nil)
		if e, ok := err.(*sallyport.ToolError); !ok || e.Name != "sum" || e.Error() != "no" || !e.Result.IsError {
			t.Errorf("got %#v, want a ToolError of sum with the text no", err)
		}
		return nil, nil
	})
}

func TestCall_CallerHasTheGrantedParts(t *testing.T) {
	var sent []string
	run(t, recorder(&sent, map[string]string{"caller/get": `{"pseudonym":"0a","groups":["ops"]}`}), func(c *sallyport.Call) (any, error) {
		want := sallyport.Caller{Pseudonym: "0a", Groups: []string{"ops"}}
		if got, err := c.Caller(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		return nil, nil
	})
	run(t, recorder(&sent, map[string]string{"caller/get": `{}`}), func(c *sallyport.Call) (any, error) {
		if got, err := c.Caller(); err != nil || !reflect.DeepEqual(got, sallyport.Caller{}) {
			t.Errorf("got %+v, %v; want nothing", got, err)
		}
		return nil, nil
	})
}
