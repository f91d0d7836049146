package envelope

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

func TestMeta_wishesAreValidated(t *testing.T) {
	for meta, want := range map[string]string{
		`null`: `{0 false }`,
		`{}`:   `{0 false }`,
		`{"dev.sallyport/maxBytes":512,"dev.sallyport/dryRun":true,"dev.sallyport/idempotencyKey":"k"}`:   `{512 true k}`,
		`{"dev.sallyport/maxBytes":null,"dev.sallyport/dryRun":null,"dev.sallyport/idempotencyKey":null}`: `{0 false }`,
		`{"dev.sallyport/maxBytes":511}`:                                      "dev.sallyport/maxBytes is a whole number of bytes, 512 at least (-32602)",
		`{"dev.sallyport/maxBytes":"512"}`:                                    "dev.sallyport/maxBytes is a whole number of bytes, 512 at least (-32602)",
		`{"dev.sallyport/maxBytes":1e3}`:                                      "dev.sallyport/maxBytes is a whole number of bytes, 512 at least (-32602)",
		`{"dev.sallyport/dryRun":1}`:                                          "dev.sallyport/dryRun is true or false (-32602)",
		`{"dev.sallyport/idempotencyKey":""}`:                                 "dev.sallyport/idempotencyKey is a text of 1 to 255 bytes (-32602)",
		`{"dev.sallyport/idempotencyKey":true}`:                               "dev.sallyport/idempotencyKey is a text of 1 to 255 bytes (-32602)",
		`{"dev.sallyport/idempotencyKey":"` + strings.Repeat("k", 256) + `"}`: "dev.sallyport/idempotencyKey is a text of 1 to 255 bytes (-32602)",
	} {
		m := ReadMeta(json.RawMessage(meta))
		w, err := m.Wishes()
		got := fmt.Sprint(w)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.80s: got %s, want %s", meta, got, want)
		}
	}
}

// The page for operators has each option.
func TestMeta_optionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operation.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{MetaSession, MaxBytes, Once, dryRun, timeout} {
		if !strings.Contains(string(page), "\n| `"+key+"` |") {
			t.Errorf("got no row of %s, want each option", key)
		}
	}
}

func TestMeta_timeoutIsWholeMilliseconds(t *testing.T) {
	for meta, want := range map[string]time.Duration{
		`{}`:                              0,
		`{"dev.sallyport/timeoutMs":50}`:  50 * time.Millisecond,
		`{"dev.sallyport/timeoutMs":0}`:   1,
		`{"dev.sallyport/timeoutMs":-1}`:  0,
		`{"dev.sallyport/timeoutMs":1e3}`: 0,
		`{"dev.sallyport/timeoutMs":"5"}`: 0,
	} {
		m := ReadMeta(json.RawMessage(meta))
		if got := m.Timeout(); got != want {
			t.Errorf("%s: got %v, want %v", meta, got, want)
		}
	}
}

func TestMeta_traceIsReadFromMetaOnly(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for params, want := range map[string]trace.Context{
		`{"arguments":{"traceparent":"x"},"_meta":{"traceparent":"` + parent + `","tracestate":"a=1"}}`: {Parent: parent, State: "a=1"},
		`{"_meta":{"baggage":"a=1","tracestate":"a=1"}}`:                                                {Baggage: "a=1"},
		`{"arguments":{"traceparent":"` + parent + `"}}`:                                                {},
		`{"traceparent":"` + parent + `"}`:                                                              {},
		`{}`:                                                                                            {},
		``:                                                                                              {},
	} {
		call := Parse(&jsonrpc.Message{Params: json.RawMessage(params)})
		if got := call.Trace(); got != want {
			t.Errorf("%s: got %+v, want %+v", params, got, want)
		}
	}
}
