package result

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

func TestFit_replacesUnknownBlocks(t *testing.T) {
	const link = `{"type":"resource_link","uri":"a:b","name":"n","title":"N","description":"d","icons":[],"annotations":{"priority":1}}`
	const sound = `{"type":"audio","data":"AA==","mimeType":"audio/wav","_meta":{"k":1}}`
	const asText = `{"type":"text","text":"N: a:b (d)","annotations":{"priority":1}}`
	const asResource = `{"type":"resource","resource":{"uri":"sallyport://answer/1","mimeType":"audio/wav","blob":"AA=="},"_meta":{"k":1}}`
	for version, want := range map[string]string{
		"": link + "," + sound, envelope.V20251125: link + "," + sound, envelope.V20250618: link + "," + sound,
		envelope.V20250326: asText + "," + sound, envelope.V20241105: asText + "," + asResource,
	} {
		o, _ := jsonraw.ParseObject([]byte(`{"content":[` + link + `,` + sound + `],"x":1}`))
		Fit(&o, version)
		if got := string(o.Append(nil)); got != `{"content":[`+want+`],"x":1}` {
			t.Errorf("%s: %s", version, got)
		}
	}
	o, _ := jsonraw.ParseObject([]byte(`{"messages":[{"role":"user","content":` + link + `}]}`))
	Fit(&o, envelope.V20241105)
	if got := string(o.Append(nil)); got != `{"messages":[{"role":"user","content":`+asText+`}]}` {
		t.Error(got)
	}
}

// TestFit_leavesOnlyBlocksOfTheRevision checks that generated answers, including cut ones with links, contain only
// block types of each revision.
func TestFit_leavesOnlyBlocksOfTheRevision(t *testing.T) {
	blocks := []string{`{"type":"text","text":"t"}`, `{"type":"image","data":"AA==","mimeType":"i/p"}`, `{"type":"audio","data":"AA==","mimeType":"a/w"}`,
		`{"type":"resource_link","uri":"a:b","name":"n"}`, `{"type":"resource","resource":{"uri":"a:b","text":"t"}}`}
	has := map[string][]string{
		envelope.V20241105: {"text", "image", "resource"}, envelope.V20250326: {"text", "image", "resource", "audio"},
		envelope.V20250618: {"text", "image", "resource", "audio", "resource_link"},
	}
	random := rand.New(rand.NewPCG(1, 1))
	checked := 0
	for range 5_000 {
		var list []string
		for range random.IntN(6) {
			list = append(list, blocks[random.IntN(len(blocks))])
		}
		for version, types := range has {
			o, _ := jsonraw.ParseObject([]byte(`{"content":[` + strings.Join(list, ",") + `]}`))
			if Divisible(o) {
				Cut(&o, Bound{Bytes: 10}, "sallyport://results/x")
			} else if random.IntN(2) == 0 {
				Replace(&o, "too large", "sallyport://results/x")
			}
			Fit(&o, version)
			for s := jsonraw.ScanArray(o.Get("content")); s.Next(); checked++ {
				kind, _ := jsonraw.String(jsonraw.Get(s.Value, "type"))
				if !slices.Contains(types, kind) || checkContent(s.Value) != nil {
					t.Fatalf("%s: got %s, want a block of the revision", version, s.Value)
				}
			}
		}
	}
	t.Logf("%d blocks", checked)
}
