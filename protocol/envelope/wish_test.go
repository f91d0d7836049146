package envelope

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
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
		w, err := ReadWishes(json.RawMessage(`{"name":"t","_meta":` + meta + `}`))
		got := fmt.Sprint(w)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.80s: %s", meta, got)
		}
	}
}
