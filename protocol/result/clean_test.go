package result

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// promiseless is a tool without an output schema.
type promiseless struct{}

func (promiseless) Output() (*jsonschema.Schema, error) { return nil, nil }

// unseen is a tag character and a direction override, as JSON escapes.
const unseen = `\udb40\udc41\u202e`

// TestTool_cleansByPlace checks that all text in an answer except data is cleaned, under every member name and in
// every position.
func TestTool_cleansByPlace(t *testing.T) {
	places := 0
	for _, name := range []string{"title", "description", "name", "uri", "text", "resource", "mimeType", "annotations", "icons", "_meta", "data", "blob", "enum", "input", "x"} {
		for _, value := range []string{`"a` + unseen + `b"`, `{"` + name + `":["` + unseen + `"],"` + unseen + `":1}`} {
			for _, answer := range []string{
				`{"content":[{"type":"text","text":"` + unseen + `",` + `"more":1,"@":V}]}`,
				`{"content":[{"type":"resource_link","uri":"a:` + unseen + `","name":"b","@":V}]}`,
				`{"content":[{"type":"image","data":"AA==","mimeType":"a/` + unseen + `","@":V}]}`,
				`{"content":[{"type":"resource","resource":{"uri":"a:` + unseen + `","blob":"AA==","@":V},"@":V}]}`,
				`{"content":[],"@":V}`,
			} {
				written := strings.ReplaceAll(strings.ReplaceAll(answer, "@", name), "V", value)
				if _, twice := jsonraw.AmbiguousKey([]byte(written)); twice {
					continue // this position has a meaning
				}
				o, done, err := Tool(json.RawMessage(written), promiseless{})
				if name == "text" && strings.Contains(answer, `"resource":`) {
					continue // the resource's text
				}
				places++
				if n := sanitize.Count(o.Append(nil)); err != nil || n != 0 || done.Removed == 0 && strings.Contains(written, `b"`) {
					t.Errorf("%s\ngot %s, %v, %d hidden characters, %d removed, want none hidden", written, o.Append(nil), err, n, done.Removed)
				}
			}
		}
	}
	t.Logf("%d places", places)
	data := `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"` + unseen + `"}}],"structuredContent":{"a":"` + unseen + `"}}`
	o, done, err := Tool(json.RawMessage(data), promiseless{})
	if got := string(o.Append(nil)); err != nil || got != data || done.Removed != 0 || done.Hidden != 4 {
		t.Errorf("got data %s, %+v, %v, want it unchanged", got, done, err)
	}
}

// TestRead_cleansByPlace checks the same for prompts, resources and completions.
func TestRead_cleansByPlace(t *testing.T) {
	for written, want := range map[string]string{
		`{"description":"` + unseen + `d","new":{"` + unseen + `k":1},"messages":[{"role":"user","x":"` + unseen + `","content":{"type":"text","text":"` + unseen + `t"}}]}`: `{"description":"d","new":{"k":1},"messages":[{"role":"user","x":"","content":{"type":"text","text":"t"}}]}`,
		`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"` + unseen + `","title":"` + unseen + `"}}}]}`:                             `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"` + unseen + `","title":""}}}]}`,
		`{"contents":[{"uri":"a:` + unseen + `b","text":"` + unseen + `","title":"` + unseen + `","_meta":{"k":"` + unseen + `"}}],"x":"` + unseen + `"}`:                    `{"contents":[{"uri":"a:b","text":"` + unseen + `","title":"","_meta":{"k":""}}],"x":""}`,
		`{"completion":{"values":["` + unseen + `v"],"x":"` + unseen + `"},"y":"` + unseen + `"}`:                                                                            `{"completion":{"values":["v"],"x":""},"y":""}`,
	} {
		read := Prompt
		switch {
		case strings.HasPrefix(written, `{"contents"`):
			read = Resource
		case strings.HasPrefix(written, `{"completion"`):
			read = Completion
		}
		o, err := read(json.RawMessage(written))
		if got := string(o.Append(nil)); err != nil || got != want {
			t.Errorf("%s\nbecomes %s, %v\nwant    %s", written, got, err, want)
		}
	}
}

// TestTool_dropsMembersOfOtherResults checks that a plugin cannot write members that mark other kinds of results, nor
// case variants of members.
func TestTool_dropsMembersOfOtherResults(t *testing.T) {
	written := `{"content":[],"inputRequests":{"a":{}},"requestState":"s","task":{"taskId":"t"},"taskId":"t","Status":"working","statusMessage":"m","nextCursor":"c",` +
		`"createdAt":"x","pollInterval":1,"ttl":5,"Content":[{"type":"text","text":"other"}],"structuredcontent":{},"i\u017fError":true,"x":{"task":1},"ta` + unseen + `sk":{}}`
	o, _, err := Tool(json.RawMessage(written), promiseless{})
	if got := string(o.Append(nil)); err != nil || got != `{"content":[],"x":{"task":1}}` {
		t.Errorf("got %s, %v", got, err)
	}
	for written, want := range map[string]string{
		`{"content":[{"type":"text","text":"a","Text":"b"}]}`:       "content holds a key that readers can take for another one: /0/Text",
		`{"content":[{"type":"text","type":"image","text":"a"}]}`:   "content holds a key that readers can take for another one: /0/type",
		`{"content":[{"type":"text","text":"a","text\u0000":"b"}]}`: `content holds a key that readers can take for another one: /0/text\x00`,
	} {
		if _, _, err := Tool(json.RawMessage(written), promiseless{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", written, err, want)
		}
	}
}

// TestIsBase64_agreesWithTheDecoder compares with encoding/base64 on generated texts.
func TestIsBase64_agreesWithTheDecoder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	valid := 0
	for range 200_000 {
		text := make([]byte, random.IntN(13))
		for i := range text {
			text[i] = "ABab09+/=-_ \n"[random.IntN(9+random.IntN(5))]
		}
		_, err := base64.StdEncoding.DecodeString(string(text))
		want := err == nil && !strings.ContainsAny(string(text), "\r\n")
		if want {
			valid++
		}
		if isBase64(text) != want {
			t.Fatalf("%q: %v", text, !want)
		}
	}
	t.Logf("200000 texts, %d of them base64", valid)
}
