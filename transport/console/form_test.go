package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
)

// A form is shown with its fields, and a client with the token can answer it once, with valid values.
func TestForm_isAnsweredOnceWithValidValues(t *testing.T) {
	d := newDesk(t)
	asking := elicit.New(elicit.Options{Store: d.store})
	f := elicit.Form{Plugin: "demo", Digest: "d", Principal: "me", Params: json.RawMessage(`{"message":"Plugin demo asks: ` + strings.ReplaceAll(evil, `"`, `\"`) + `","requestedSchema":{
		"type":"object","properties":{"name":{"type":"string","maxLength":5},"age":{"type":"integer","default":7}},"required":["name"]}}`)}
	f, ok := asking.Ask(t.Context(), f)
	if !ok {
		t.Fatal("Ask = false, want true")
	}
	_, text, _ := d.do("GET", "/state", "", "Authorization", "Bearer "+d.token)
	var state struct {
		Forms []struct {
			ID, Plugin, Message string
			Fields              []elicit.Field
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil || len(state.Forms) != 1 || state.Forms[0].Message != f.Message() || len(state.Forms[0].Fields) != 2 {
		t.Errorf("got state %s, %v; want one form with two fields", text, err)
	}
	answer := func(how, values string) string {
		return `{"id":"` + f.ID + `","answer":"` + how + `","values":[` + values + `]}`
	}
	for values, want := range map[string]string{
		``: "name", `{"name":"name","text":"Nobody"}`: "/name", `{"name":"rank","text":"1"}`: "no field", `{"name":"name","text":"Ada"},{"name":"age","text":"x"}`: "is a number",
	} {
		if code, text := d.post(answer("accept", values)); code != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s; want %d, %s in it", values, code, text, http.StatusUnprocessableEntity, want)
		}
	}
	if code, _, _ := d.do("POST", "/answer", answer("decline", ""), "Content-Type", "application/json"); code != http.StatusUnauthorized {
		t.Errorf("without the token: got %d, want 401", code)
	}
	if code, _ := d.post(answer("always", "")); code != http.StatusConflict {
		t.Errorf("answer as to a question about a grant: got %d, want 409", code)
	}
	if _, ok := asking.Take(t.Context(), f); ok {
		t.Error("Take before an answer: got true, want false")
	}
	if code, text := d.post(answer("accept", `{"name":"name","text":"Ada"}`)); code != http.StatusOK {
		t.Errorf("got %d %s, want 200", code, text)
	}
	if got, _ := asking.Take(t.Context(), f); string(got) != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("got %s, want %s", got, `{"action":"accept","content":{"name":"Ada"}}`)
	}
	if code, _ := d.post(answer("accept", `{"name":"name","text":"Ada"}`)); code != http.StatusConflict {
		t.Errorf("second answer: got %d, want 409", code)
	}
	if got := strings.Join(d.noted, "\n"); !strings.HasSuffix(got, "accept "+f.ID+" d") {
		t.Errorf("noted: got %s, want %q at its end", got, "accept "+f.ID+" d")
	}
	if grants, err := d.store.Grants(t.Context()); err != nil || len(grants) != 0 {
		t.Errorf("got grants %+v, %v; want none, no error", grants, err)
	}
}
