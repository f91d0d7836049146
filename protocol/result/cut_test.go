package result

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// A cut answer has a prefix of its texts in whole characters, within the limit.
func TestCut_keepsWholeCharactersWithinTheLimit(t *testing.T) {
	text := strings.Repeat("é\\n", 100) + "\\u0001" + strings.Repeat("x", 900)
	for limit := 256; limit < 1500; limit += 37 {
		o, err := jsonraw.ParseObject([]byte(`{"content":[{"type":"text","text":"first"},{"type":"text","text":"` + text + `"}]}`))
		if err != nil || !Divisible(o) {
			t.Fatal(o, err)
		}
		Cut(&o, Bound{limit, "limits.output"}, "sallyport://results/x")
		blocks, err := jsonraw.Elements(o.Get("content"))
		if err != nil || jsonraw.Valid(o.Append(nil)) != nil || len(o.Get("content")) > limit {
			t.Fatalf("limit %d: got %v, %s, want valid content within the limit", limit, err, o.Append(nil))
		}
		if n := len(blocks); string(jsonraw.Get(blocks[0], "text")) != `"first"` && n > 2 || !strings.Contains(string(blocks[n-1]), "results/x") ||
			!strings.Contains(string(blocks[n-2]), "[cut: the answer has") {
			t.Errorf("limit %d: got %s, want the notice of a cut and a link", limit, o.Append(nil))
		}
	}
	for _, data := range []string{`{"content":[{"type":"image","data":"","mimeType":"x/y"}]}`, `{"content":[],"structuredContent":{}}`} {
		if o, _ := jsonraw.ParseObject([]byte(data)); Divisible(o) {
			t.Errorf("a part of %s means something", data)
		}
	}
}
