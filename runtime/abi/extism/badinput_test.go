package extism

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// saying returns a guest whose export outputs a text after running code, which has one i64 local and gets the function
// indices.
func saying(export, text string, length int64, code func(number map[string]uint32) []byte) []byte {
	var m w.Module
	number := make(map[string]uint32)
	for _, f := range append(importable(), userFuncs()...) {
		if _, twice := number[f.Name]; !twice {
			number[f.Name] = m.Import(f.Module, f.Name, f.Params, f.Results)
		}
	}
	m.Memory(1, 1)
	body := [][]byte{w.I64Const(length), w.Call(number["alloc"]), w.LocalSet(0)}
	for at := 0; at < len(text); at += 8 {
		var eight [8]byte
		copy(eight[:], text[at:])
		body = append(body, w.LocalGet(0), w.I64Const(int64(at)), []byte{0x7c}, // i64.add
			w.I64Const(int64(binary.LittleEndian.Uint64(eight[:]))), w.Call(number["store_u64"]))
	}
	if code != nil {
		body = append(body, code(number))
	}
	body = append(body, w.LocalGet(0), w.I64Const(length), w.Call(number["output_set"]), w.I32Const(0))
	m.Export(export, m.Func(nil, []byte{w.I32}, []byte{w.I64}, body...))
	return m.Bytes()
}

// TestServe_reportsInvalidOutput checks the exact error for each invalid output, and that the next call is served.
func TestServe_reportsInvalidOutput(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `the guest's "call_tool" gave no output`,
		"hello":                       `the output of the guest's "call_tool" is not a JSON object`,
		"[]":                          "is not a JSON object",
		"null":                        "is not a JSON object",
		`{"content":`:                 "is not a JSON object",
		`{"a":1,"a":2}`:               "is not a JSON object",
		"{}\x00":                      "is not a JSON object",
		"{\"a\":\"\xff\"}":            "is not a JSON object",
		deepJSON(20_000):              "is not a JSON object",
		`{"content":[1,2]}`:           "", // refused when it is published
		`{"content":"x","isError":7}`: "",
		`{"content":[{"type":7}]}`:    "",
	} {
		p, err := pool(t, saying("call_tool", text, int64(len(text)), nil), New(), runtime.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			result, err := p.Call(context.Background(), runtime.Request{Method: "tools/call", Params: json.RawMessage("{}")}, newWorld(t, ""))
			var end *runtime.EndError
			switch {
			case want == "" && (err != nil || len(result) == 0):
				t.Errorf("%.40q: got %s, %v; want a result", text, result, err)
			case want != "" && (!errors.As(err, &end) || end.Kind != runtime.KindGuest || !strings.Contains(end.Message, want)):
				t.Errorf("%.40q: %v, want %s", text, err, want)
			}
		}
	}
}

func deepJSON(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

// 100 MB exceed the output limit, and with a smaller memory the memory limit.
func TestServe_limitsOutputAndMemory(t *testing.T) {
	const size = 100 << 20
	for memory, want := range map[uint64]string{64 << 20: "gave no output", 256 << 20: "the answer is over the limit of 262144 bytes"} {
		p, err := pool(t, saying("call_tool", "{}", size, nil), New(), runtime.Limits{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Call(context.Background(), runtime.Request{Method: "tools/call"}, newWorld(t, ""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d MiB: %v, want %s", memory>>20, err, want)
		}
	}
}

// Requests of a guest during plugin/describe get the results of a gate without grants.
func TestServe_describeHasNoGrants(t *testing.T) {
	lists := `{"tools":[]}`
	for name, want := range map[string]string{
		"create_elicitation": "an elicitation is not a JSON object",
		"create_message":     "a sampling request is not a JSON object",
		"http_request":       "the guest's request is not {url, method, headers}",
		"list_roots":         "", "get_keyring_secret": "", "get_access_token": "", "notify_progress": "", "notify_tool_list_changed": "",
		"config_get": "", "log_info": "",
	} {
		wasm := saying("list_tools", lists, int64(len(lists)), func(number map[string]uint32) []byte {
			results, params := signature(name)
			code := w.Repeat(len(params), w.I64Const(0))
			if code = append(code, w.Call(number[name])...); len(results) > 0 {
				code = append(code, w.Drop...)
			}
			return code
		})
		p, err := pool(t, wasm, New(), runtime.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := p.Call(context.Background(), runtime.Request{Method: "plugin/describe"}, newWorld(t, ""))
		if want == "" && (err != nil || !strings.Contains(string(result), `"tools":[]`)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s %v, want %s", name, result, err, want)
		}
	}
}

// An Extism plugin that is not made for MCP is reported as such, instead of offering nothing.
func TestDescribe_reportsPluginsNotMadeForMCP(t *testing.T) {
	p, err := pool(t, saying("count_vowels", "{}", 2, nil), New(), runtime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), runtime.Request{Method: "plugin/describe"}, nil)
	if err == nil || !strings.Contains(err.Error(), "this Extism plugin is not made for MCP: it exports neither describe and call nor list_tools") {
		t.Errorf("got %v, want an error that the plugin is not made for MCP", err)
	}
}
