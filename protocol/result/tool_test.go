package result

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Structured content is converted for clients of each era.
func TestReadable_addsStructuredContentAsText(t *testing.T) {
	for _, test := range []struct {
		name, result, modern, legacy string
	}{
		{"object without content", `{"structuredContent":{"a":1}}`,
			`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`,
			`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{"object with content", `{"content":[],"structuredContent":{"a":1}}`,
			`{"content":[],"structuredContent":{"a":1}}`,
			`{"content":[],"structuredContent":{"a":1}}`},
		{"number", `{"content":[],"structuredContent":1.50}`,
			`{"content":[{"type":"text","text":"1.50"}],"structuredContent":1.50}`,
			`{"content":[{"type":"text","text":"1.50"}]}`},
		{"array said already", `{"content":[{"type":"text","text":"[]"}],"structuredContent":[]}`,
			`{"content":[{"type":"text","text":"[]"}],"structuredContent":[]}`,
			`{"content":[{"type":"text","text":"[]"}]}`},
		{"none", `{"content":[]}`, `{"content":[]}`, `{"content":[]}`},
	} {
		for _, modern := range []bool{true, false} {
			o, err := jsonraw.ParseObject([]byte(test.result))
			if err != nil {
				t.Fatal(err)
			}
			Readable(&o, !modern)
			want := test.legacy
			if modern {
				want = test.modern
			}
			if got := string(o.Append(nil)); got != want {
				t.Errorf("%s, modern %v: got %s, want %s", test.name, modern, got, want)
			}
		}
	}
}
