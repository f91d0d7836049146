package main

import (
	"net/http"
	"strings"
	"testing"
)

// A session over the bound of http.sessions ends the one that was idle for longest.
func TestServe_boundsSessions(t *testing.T) {
	url := serveURL(t, "http: {sessions: 2}", "--no-token", folder(t, guest(t, "misbehave")))
	post := func(session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequest("POST", url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	var sessions []string
	for range 3 {
		r := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		sessions = append(sessions, r.Header.Get("Mcp-Session-Id"))
	}
	for i, want := range []int{http.StatusNotFound, http.StatusOK, http.StatusOK} {
		if r := post(sessions[i], `{"jsonrpc":"2.0","id":2,"method":"ping"}`); r.StatusCode != want {
			t.Errorf("session %d of 3: got %s, want %d", i+1, r.Status, want)
		}
	}
}
