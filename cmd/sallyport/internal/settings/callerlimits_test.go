package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// The first entry that names a caller counts, with the groups of the file and of a sign-in.
func TestCallerLimits_theFirstCounts(t *testing.T) {
	s, err := Load(Options{File: write(t, `groups:
  ops: ["token:ann", "token:bob"]
plugins:
  p:
    limits:
      deadline: 20s
      for:
        - {who: ["token:ann"], deadline: 1m}
        - {who: [group:ops, scope:fast], memory: 1GiB, concurrency: 3, rate: 0.5, sent: 1KiB}
        - {who: [all], deadline: 5s}
`)})
	if err != nil {
		t.Fatal(err)
	}
	p := &s.Plugins[0]
	for _, test := range []struct {
		id   identity.Identity
		line int
	}{
		{identity.Identity{Principal: "token:ann", Groups: []string{"ops"}}, 8},
		{identity.Identity{Principal: "token:bob"}, 9},
		{identity.Identity{Principal: "oauth:x", Groups: []string{"ops"}}, 9},
		{identity.Identity{Principal: "oauth:x", Scopes: []string{"fast"}}, 9},
		{identity.Identity{Principal: "token:Ann", Scopes: []string{"ops"}}, 10},
	} {
		if got := p.LimitsOf(test.id); got == nil || got.Line != test.line {
			t.Errorf("%v: got %+v, want those of line %d", test.id, got, test.line)
		}
	}
	if got, want := p.LimitsFor[1].Limits, (Limits{Memory: 1 << 30, Concurrency: 3, Rate: 0.5, Sent: 1 << 10}); got != want || p.Limits.Deadline != 20*time.Second {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := p.LimitsFor[1].String(), "who: [group:ops, scope:fast], memory: 1GiB, concurrency: 3, rate: 0.5, sent: 1KiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if (&Plugin{}).LimitsOf(identity.Identity{Principal: "token:ann"}) != nil {
		t.Error("a plugin without entries has limits of a caller, want none")
	}
}

func TestCallerLimits_errorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"7":                                    ":4: p.limits.for: want a list of 1 to 256, such as - {who: [group:interns], deadline: 5s}",
		"[]":                                   ":4: p.limits.for: want a list of 1 to 256",
		"[7]":                                  ":4: ",
		"[{deadline: 5s}]":                     ":4: p.limits.for.who: no caller is named",
		"[{who: []}]":                          ":4: p.limits.for.who: no caller is named",
		"[{who: [all]}]":                       ":4: p.limits.for: no limit is set: write such as deadline: 5s beside who",
		"[{who: [interns], deadline: 5s}]":     `:4: p.limits.for.who: "interns" names no caller: write a principal such as token:ann, group:NAME, scope:NAME or all`,
		"[{who: [role:interns], deadlin: 5s}]": `:4: unknown key "deadlin" in p.limits.for; did you mean deadline?`,
		"[{whom: [all], deadline: 5s}]":        `:4: unknown key "whom" in p.limits.for; did you mean who?`,
		"[{who: [\"group:\"], deadline: 5s}]":  ":4: p.limits.for.who: the name is empty",
		"[{who: [\"group:o\\u200bps\"], deadline: 5s}]":                        "invisible",
		"[{who: [all], deadline: 0s}]":                                         `:4: p.limits.for.deadline: "0s" is not a duration; write one such as 30s`,
		"[{who: [all], concurrency: 0}]":                                       `:4: p.limits.for.concurrency: "0" is not a whole number above zero`,
		"[{who: [all], memory: 0MiB}]":                                         ":4: p.limits.for.memory: ",
		"[{who: [all], memory: 32}]":                                           ":4: p.limits.for.memory: ",
		"[{who: [all], rate: 0}]":                                              ":4: p.limits.for.rate: ",
		"[{who: [all], deadline: [5s]}]":                                       ":4: p.limits.for.deadline",
		"[{who: [all], deadline: 5s, deadline: 6s}]":                           "deadline",
		"[{who: [all], for: [{who: [all], deadline: 5s}]}]":                    `:4: unknown key "for" in p.limits.for`,
		"[{who: [all], deadline: 5s}, {who: [all], deadline: 6s}]":             ":4: p.limits.for: all has the limits of line 4 already, of which the first count: leave it out, or write it above",
		"[{who: [all], deadline: 5s}, {who: [\"token:ann\"], deadline: 6s}]":   ":4: p.limits.for: token:ann has the limits of line 4 already",
		"[{who: [group:a], deadline: 5s}, {who: [group:a], memory: 1MiB}]":     ":4: p.limits.for: group:a has the limits of line 4 already",
		"[{who: [scope:a], deadline: 5s}, {who: [scope:a], memory: 1MiB}]":     ":4: p.limits.for: scope:a has the limits of line 4 already",
		"[{who: [group:ops], deadline: 5s}, {who: [\"token:ann\"], task: 1s}]": ":4: p.limits.for: token:ann has the limits of line 4 already",
	} {
		file := "groups: {ops: [\"token:ann\"]}\nplugins:\n  p: {limits: {\n    for: " + text + "}}\n"
		if s, err := Load(Options{File: write(t, file)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", text, s, err, want)
		}
	}
	for _, text := range []string{
		"[{who: [\"token:ann\"], deadline: 5s}, {who: [group:ops], deadline: 6s}, {who: [all], deadline: 7s}]",
		"[{who: [group:a], deadline: 5s}, {who: [scope:a, group:A], deadline: 6s}]",
	} {
		if _, err := Load(Options{File: write(t, "groups: {ops: [\"token:ann\"]}\nplugins: {p: {limits: {for: "+text+"}}}\n")}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
