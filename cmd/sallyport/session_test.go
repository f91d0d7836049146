package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// ofSession returns the params of a call of effects-run in a session; "" names none.
func ofSession(session string, steps ...step) map[string]any {
	meta := maps.Clone(taskCaps)
	if session != "" {
		meta["dev.sallyport/session"] = session
	}
	return map[string]any{"name": "effects-run", "arguments": effects("", steps...), "_meta": meta}
}

// sessionCall makes one call, and returns the session in the response and the plugin's text.
func sessionCall(t *testing.T, url string, params map[string]any) (session, text string, v taskView) {
	t.Helper()
	var answer struct {
		Result taskView
		Error  struct{ Message string }
	}
	var named struct {
		Result struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	var raw json.RawMessage
	err := json.NewDecoder(postTask(t, url, "tools/call", params["name"].(string), params).Body).Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err == nil {
		err = json.Unmarshal(raw, &named)
	}
	if err != nil {
		t.Fatalf("got %s, %v, want JSON", raw, err)
	}
	session, _ = named.Result.Meta["dev.sallyport/session"].(string)
	if text = answer.Error.Message; len(answer.Result.Content) > 0 {
		text = answer.Result.Content[0].Text
	}
	return session, text, answer.Result
}

// Over HTTP a modern client has only the session that it requests, and only in the process that created it.
func TestSession_onlyAsRequestedAndInItsProcess(t *testing.T) {
	config := "plugins: {effects: {state: session, grants: [elicitation]}}"
	plugins := folder(t, guest(t, "effects"))
	one, other := serveURL(t, config, plugins, "--no-token"), serveURL(t, config, plugins, "--no-token")
	count := step{"do": "count"}
	said := func(url, session, want string) string {
		t.Helper()
		began, text, _ := sessionCall(t, url, ofSession(session, count))
		if !strings.Contains(text, want) {
			t.Errorf("session %q: got %s, want %s", session, text, want)
		}
		return began
	}
	said(one, "", "count: 1")
	said(one, "", "count: 1") // the state of the previous call is gone
	ada, eve := said(one, "new", "count: 1"), said(one, "new", "count: 1")
	if ada == "" || ada == eve {
		t.Fatalf("got sessions %q and %q, want different ones", ada, eve)
	}
	if again := said(one, ada, "count: 2"); again != "" {
		t.Errorf("in a session: got a new one %q, want none", again)
	}
	said(one, ada, "count: 3")
	said(one, eve, "count: 2")
	const over = "dev.sallyport/session names a session that is over, or is kept by another process"
	said(one, "guess", over)
	said(other, ada, over)

	// A call that asks also begins its session, which the final response names.
	params := ofSession("new", count, question, count)
	_, _, v := sessionCall(t, one, params)
	if v.ResultType != "input_required" {
		t.Fatalf("got %+v, want %q", v, "input_required")
	}
	params["requestState"], params["inputResponses"] = v.RequestState, answersTo(v)
	asked, text, _ := sessionCall(t, one, params)
	if asked == "" || !strings.Contains(text, "count: 2") {
		t.Errorf("session %q: got %s, want count: 2", asked, text)
	}
	said(one, asked, "count: 3")

	// A task of a session uses its instance.
	params = ofSession("new", count, step{"do": "sleep", "times": 200}, count)
	params["name"] = "effects-job"
	began, _, v := sessionCall(t, one, params)
	if v.ResultType != "task" || began == "" {
		t.Fatalf("got %+v, want %q", v, "task")
	}
	for v.Status != "completed" {
		var now struct{ Result taskView }
		if err := json.NewDecoder(postTask(t, one, "tasks/get", v.TaskID, map[string]any{"taskId": v.TaskID}).Body).Decode(&now); err != nil {
			t.Fatal(err)
		}
		v.Status = now.Result.Status
	}
	said(one, began, "count: 3")
}

// A continuation of a call without a session stays without one, even if its answers name a session.
func TestSession_continuationNamesNone(t *testing.T) {
	url := serveURL(t, "plugins: {effects: {state: session, grants: [elicitation]}}", folder(t, guest(t, "effects")), "--no-token")
	count := step{"do": "count"}
	session, _, _ := sessionCall(t, url, ofSession("new", count))
	for _, named := range []string{session, "new"} {
		_, _, v := sessionCall(t, url, ofSession("", count, question, count))
		params := ofSession(named, count, question, count)
		params["requestState"], params["inputResponses"] = v.RequestState, answersTo(v)
		if _, text, _ := sessionCall(t, url, params); !strings.Contains(text, "count: 1\n") || !strings.HasSuffix(text, "count: 2") {
			t.Errorf("answers that name %q: got %s, want counts 1 and 2", named, text)
		}
	}
	if _, text, _ := sessionCall(t, url, ofSession(session, count)); !strings.Contains(text, "count: 2") {
		t.Errorf("got %v, want %q in it", text, "count: 2")
	}
}
