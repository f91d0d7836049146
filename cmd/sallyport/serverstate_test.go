//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const keptServer = "plugins: {server: {state: session, limits: {deadline: 20s}}}"

// Each session has a server of its own, which a cancelled call does not end.
func TestServer_keepsItsStateForASession(t *testing.T) {
	file := filepath.Join(badServer(t, ""), "server.wasm")
	overBoth(t, keptServer, []string{file}, nil, func(t *testing.T, connect func() *mcp.ClientSession) {
		one, other := connect(), connect()
		count := func(s *mcp.ClientSession) string { return text(call(t, s, "server-count", nil)) }
		want := []string{"1", "2", "1", "3"}
		if strings.Contains(t.Name(), "2026-07-28/http") {
			want = []string{"1", "1", "1", "1"} // a client of this revision has no session
		}
		for i, s := range []*mcp.ClientSession{one, one, other, one} {
			if got := count(s); got != want[i] {
				t.Errorf("call %d: got %s, want %s", i, got, want[i])
			}
		}
	})
}

func TestServer_keepsItsStateWhenACallIsCancelled(t *testing.T) {
	s, cancelWaiting := waitingServer(t, keptServer)
	call(t, s, "server-count", nil)
	cancelWaiting()
	for _, want := range []string{"3", "4"} { // the response to the cancelled request comes first, and is of no call
		if got := text(call(t, s, "server-count", nil)); got != want {
			t.Errorf("got %s, want %s: the server goes on", got, want)
		}
	}
}

func TestServer_keptAnswersExactlyWhenItMisbehaves(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"session", "plugin"} {
		t.Run(state, func(t *testing.T) {
			const lost = "; its state is lost, and the next call starts it again"
			const ended = "the plugin's state for this session is lost, since it ended after its last answer: the next call begins without it"
			s := connect(t, "plugins: {server: {state: "+state+", limits: {deadline: 20s}}}", badServer(t, ""))
			for i, c := range []struct{ tool, kind, want string }{
				{"count", "", "1"},
				{"chatty", "", "the first answer"},
				{"count", "", "3"},
				{"ungranted", "", `"r"{"code":-32601,"message":"this client serves no server/made-up"}`},
				{"scalar", "guest", "server-scalar: the server's result of tools/call is not an object"},
				{"count", "", "1"},
				{"huge", "limit", "server-huge: a message of the server is over the limit of 8388608 bytes (limits.output)" + lost},
				{"count", "", "1"},
				{"flood", "limit", "server-flood: the server wrote over 10000 messages in one call" + lost},
				{"deaf", "limit", "server-deaf: the server reads none of the messages that it is sent: over 67108864 bytes wait" + lost},
				{"die", "exit", "server-die: the server exited with code 7 before it answered tools/call" + lost},
				{"count", "", "1"},
				{"leave", "", "goodbye"},
				{"count", "unavailable", ended},
				{"count", "", "1"},
				{"restless", "", "at work"},
				{"count", "unavailable", ended},
				{"count", "", "1"},
			} {
				r := call(t, s, "server-"+c.tool, nil)
				if kind := kindOf(r); kind != c.kind || !strings.Contains(text(r), c.want) {
					t.Errorf("%d %s: got %q %.300s, want %q %s", i, c.tool, kind, text(r), c.kind, c.want)
				}
			}
			if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "server-refuse"}); err == nil || !strings.Contains(err.Error(), "not like this") {
				t.Errorf("refuse: got %v, want the server's error", err)
			}
			if got := text(call(t, s, "server-count", nil)); got != "3" {
				t.Errorf("after an error of the server: got count %s, want 3", got)
			}
		})
	}
}

// The lists of a kept server are read again when it says that they changed, also a little later than its answer. Its
// successor begins with those of the description.
func TestServer_keptChangesItsLists(t *testing.T) {
	dir := badServer(t, "")
	for state, want := range map[string][]bool{"call": {true, true, true, true}, "session": {false, true, false, true}} {
		t.Run(state, func(t *testing.T) {
			s := connect(t, "plugins: {server: {state: "+state+", limits: {deadline: 20s}}}", dir)
			var got []bool
			for _, tools := range [][]string{{"hide"}, {"show"}, {"hide"}, {"leave", "count", "count"}} {
				for _, tool := range tools {
					call(t, s, "server-"+tool, nil)
				}
				list, err := s.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "server-die" }))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got a list with the tool %v, want %v", got, want)
			}
		})
	}
}
