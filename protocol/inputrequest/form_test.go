package inputrequest

import (
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A session before 2025-11-25 gets a form of its version, and its answer is converted back.
func TestFit_convertsFormsForOlderSessions(t *testing.T) {
	const asked = `{"message":"m","mode":"form","requestedSchema":{"type":"object","properties":{` +
		`"a":{"type":"array","title":"A","items":{"anyOf":[{"const":"x","title":"The x"},{"const":"y","title":"The y"}]},"default":["x","y"]},` +
		`"b":{"type":"array","items":{"type":"string","enum":["p","q"]},"description":"Which?"},` +
		`"c":{"type":"string","oneOf":[{"const":"1","title":"One"},{"const":"2"}]},"d":{"type":"string","enum":["k"]},"e":{"type":"boolean"}}}}`
	const older = `{"message":"m","requestedSchema":{"type":"object","properties":{` +
		`"a":{"type":"string","title":"A","description":"Any of these, with commas between them: The x, The y","default":"x, y"},` +
		`"b":{"type":"string","description":"Which? Any of these, with commas between them: p, q"},` +
		`"c":{"type":"string","enum":["1","2"],"enumNames":["One","2"]},"d":{"type":"string","enum":["k"]},"e":{"type":"boolean"}}}}`
	q := runtime.Question{Method: "elicitation/create", Params: json.RawMessage(asked)}
	for version, want := range map[string]string{"": asked, envelope.V20251125: asked, envelope.V20250618: older} {
		if got := string(Abilities{form: true}.Fit(q, version)); got != want {
			t.Errorf("%s gets\n%s, want\n%s", version, got, want)
		}
	}
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"a":"x, The y ,x","b":"p","c":"1","e":true}}`: `{"action":"accept","content":{"a":["x","y"],"b":["p"],"c":"1","e":true}}`,
		`{"action":"accept","content":{"a":"","b":"z,p"}}`:                           `{"action":"accept","content":{"a":[],"b":["z","p"]}}`,
		`{"action":"accept","content":{"a":["x"],"b":7}}`:                            `{"action":"accept","content":{"a":["x"],"b":7}}`,
		`{"action":"decline"}`: `{"action":"decline"}`,
		`null`:                 `null`,
	} {
		if got := string(Restore(q.Params, json.RawMessage(answer), envelope.V20250618)); got != want {
			t.Errorf("%s: got %s, want %s", answer, got, want)
		}
		if got := string(Restore(q.Params, json.RawMessage(answer), envelope.V20251125)); got != answer {
			t.Errorf("a newer answer: got %s, want it unchanged", got)
		}
	}
}
