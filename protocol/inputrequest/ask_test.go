package inputrequest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Questions that need an undeclared capability are refused with the name of the capability.
func TestAbilities_refuseUndeclaredQuestions(t *testing.T) {
	url := runtime.Question{Method: "elicitation/create", Params: json.RawMessage(`{"mode":"url"}`)}
	form := runtime.Question{Method: "elicitation/create", Params: json.RawMessage(`{"mode":"form"}`)}
	model := runtime.Question{Method: "sampling/createMessage"}
	tools := runtime.Question{Method: "sampling/createMessage", Params: json.RawMessage(`{"tools":[]}`)}
	roots := runtime.Question{Method: "roots/list"}
	all := []runtime.Question{url, form, model, tools, roots}
	for declared, may := range map[string][]runtime.Question{
		``:                               nil,
		`{"elicitation":{}}`:             {form},
		`{"elicitation":{"url":{}}}`:     {url},
		`{"elicitation":{"form":{}}}`:    {form},
		`{"sampling":{}}`:                {model},
		`{"sampling":{"tools":{}}}`:      {model, tools},
		`{"roots":{"listChanged":true}}`: {roots},
		`{"roots":true,"sampling":[]}`:   nil,
		`{"elicitation":{"url":{},"form":{}},"roots":{},"sampling":{"tools":{},"context":{}}}`: all,
	} {
		a := Declared(json.RawMessage(declared))
		for _, q := range all {
			refused := a.Undeclared(q)
			if want := slices.ContainsFunc(may, func(m runtime.Question) bool { return m.Method == q.Method && string(m.Params) == string(q.Params) }); want != (refused == nil) {
				t.Errorf("%s, %s %s: got refusal %v, want permission: %v", declared, q.Method, q.Params, refused, want)
			} else if refused != nil && string(q.Params) != string(tools.Params) && Declared(refused.Requires).Undeclared(q) != nil {
				t.Errorf("%s does not do for %s %s", refused.Requires, q.Method, q.Params)
			}
		}
		if again := Declared(a.Object()); again.form != a.form || again.url != a.url || again.sampling != a.sampling || again.roots != a.roots {
			t.Errorf("%s: got %s, want equal capabilities", declared, a.Object())
		}
	}
}

// Each question of a call has a unique key, the plugin's if valid, and the number of rounds is limited.
func TestRounds_haveUniqueKeysAndALimit(t *testing.T) {
	client := Declared(json.RawMessage(`{"roots":{}}`))
	r := Rounds{Given: jsonraw.Object{{Key: "k", Value: json.RawMessage(`{}`)}}}
	round := []runtime.Question{{Method: "roots/list", Key: "new"}, {Method: "roots/list", Key: "old"}, {Method: "roots/list", Key: "new"},
		{Method: "roots/list", Key: "a b"}, {Method: "roots/list", Key: strings.Repeat("x", maxKey+1)}, {Method: "sampling/createMessage", Key: "s"}, {Method: "roots/list", Key: "k"}}
	list, complete, err := r.Next(round, client, []string{"old", "ask-1-2"})
	if err != nil || complete || len(list) != len(round) {
		t.Fatalf("got %v, complete %v, %v; want %d questions, false, no error", list, complete, err, len(round))
	}
	keys := map[string]bool{"old": true, "ask-1-2": true}
	for _, q := range list {
		if keys[q.Key] || !validKey(q.Key) {
			t.Errorf("got key %q, want a new one that can be shown", q.Key)
		}
		keys[q.Key] = true
	}
	if list[0].Key != "new" || list[6].Open() || list[5].Open() {
		t.Errorf("got %+v, want answers to the last two and the plugin's key", list)
	}
	if n := len(Requests(list)); n != 5 {
		t.Errorf("got %d requests, want 5", n)
	}
	given, err := Responses(json.RawMessage(`{"new":{"a":1}}`))
	if err != nil || Take(list, given) {
		t.Errorf("got %v, want questions without an answer", err)
	}
	answers, err := Answers(list, len(round))
	var refused *runtime.AskError
	if err != nil || string(answers[0].Result) != `{"a":1}` || !errors.As(answers[5].Err, &refused) || refused.Kind != runtime.KindUnsupported {
		t.Errorf("got %+v, %v, want an answer and a refusal", answers, err)
	}
	if _, err := Answers(list, 1); err == nil {
		t.Error("answers of another round: got no error, want one")
	}
	for r.Count < MaxRounds {
		if _, _, err := r.Next(round[:1], client, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.Next(round[:1], client, nil); err == nil {
		t.Error("round over the limit: got no error, want one")
	}
}

func TestResponses_mustBeObjects(t *testing.T) {
	for text, want := range map[string]bool{``: true, `null`: true, `{}`: true, `{"a":{}}`: true, `[]`: false, `{"a":1}`: false, `{"a":{},"a":{}}`: false} {
		if _, err := Responses(json.RawMessage(text)); (err == nil) != want {
			t.Errorf("%s: got %v, want success: %v", text, err, want)
		}
	}
}
