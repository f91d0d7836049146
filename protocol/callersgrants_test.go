package protocol

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// stored reports whether an answer has the version of a stored value.
func stored(answer string) bool { return regexp.MustCompile(`version\\*":-?[0-9]`).MatchString(answer) }

// through has a replica do one request of keys-do within outer-do, and returns the answer.
func (c *company) through(replica int, id identity.Identity, method, params string) string {
	c.t.Helper()
	arguments := fmt.Sprintf(`{"name":"keys-do","arguments":{"ask":%q,"params":%s},"principal":"token:ann","roles":{"groups":["ops"]}}`, method, params)
	return c.ask(replica, id, "tools/call", fmt.Sprintf(`"name":"outer-do","arguments":{"ask":"tools/call","params":%s},`, arguments), "")
}

// asTask has a replica do one request of keys-task, and returns the task when it has ended.
func (c *company) asTask(replica int, id identity.Identity, method, params string) string {
	c.t.Helper()
	opened := c.ask(replica, id, "tools/call", fmt.Sprintf(`"name":"keys-task","arguments":{"ask":%q,"params":%s},`, method, params), "")
	task, ok := jsonraw.String(jsonraw.Get(json.RawMessage(opened), "result", "taskId"))
	if !ok {
		c.t.Fatalf("got %s, want a task", opened)
	}
	got := ""
	eventually(c.t, "the task has ended", func() bool {
		got = c.ask(1-replica, id, "tasks/get", fmt.Sprintf(`"taskId":%q,`, task), "")
		return strings.Contains(got, `"completed"`) || strings.Contains(got, `"failed"`)
	})
	return got
}

// A grant for some callers holds in no call of others: on either replica, by names that resemble those of its callers,
// through another plugin, and in a task.
func TestCallers_grantOfOthersIsNotUsed(t *testing.T) {
	c := newKeepers(t, `kv: 1MiB {who: [group:ops, "token:eve"]}`)
	const set, value = "kv/set", `{"key":"k","value":"kept"}`
	eve := identity.Identity{Principal: "token:eve"}
	others := append(resembling[2:], bob, identity.Identity{Principal: "anonymous"}, identity.Identity{Principal: "token:Eve"}, identity.Identity{Principal: "group:ops"},
		identity.Identity{Principal: "token:ann"}, identity.Identity{Principal: "token:bob", Groups: []string{"OPS", "ops ", "o\u200bps", "ops,x", "group:ops"}},
		identity.Identity{Principal: "token:bob", Scopes: []string{"ops", "group:ops"}}, identity.Identity{Principal: "all", Groups: []string{"all"}})
	for replica := range c.replicas {
		for _, id := range []identity.Identity{ann, eve} {
			for name, got := range map[string]string{"call": c.key(replica, id, set, value), "nested": c.through(replica, id, set, value), "task": c.asTask(replica, id, set, value)} {
				if !stored(got) {
					t.Errorf("%q, %s: got %s, want the value stored", id.Principal, name, got)
				}
			}
		}
		for _, id := range others {
			if id.Principal == "token:Ann" && len(id.Groups) > 0 {
				continue // is in ops too
			}
			attacks := map[string]string{"call": c.key(replica, id, set, value), "nested": c.through(replica, id, set, value)}
			if id.Principal == bob.Principal {
				attacks["task"] = c.asTask(replica, id, set, value)
			}
			for name, got := range attacks {
				if stored(got) || strings.Contains(got, "group:ops") || strings.Contains(got, "token:eve") {
					t.Errorf("%q, %s: got %s, want a refusal that names no line", id.Principal, name, got)
				}
			}
		}
	}
}

// A changed line holds from the next call on, on the replica that has it. A call under way keeps its own.
func TestCallers_changedGrantHoldsFromTheNextCall(t *testing.T) {
	c := newKeepers(t, `kv: 1MiB {who: [group:ops]}`)
	const set, value = "kv/set", `{"key":"k","value":"kept"}`
	if got := c.key(0, ann, set, value); !stored(got) {
		t.Fatalf("got %s, want the value stored", got)
	}
	c.allow(0, `kv: 1MiB {who: ["token:bob"]}`)
	if got := c.key(0, ann, set, value); stored(got) {
		t.Errorf("ann: got %s, want a refusal", got)
	}
	if got := c.key(0, bob, set, value); !stored(got) {
		t.Errorf("bob: got %s, want the value stored", got)
	}
	if got := c.key(1, ann, set, value); !stored(got) {
		t.Errorf("ann on the replica with the former line: got %s, want the value stored", got)
	}
}

// Secrets per principal and pseudonyms are the caller's own on both replicas: by the name of its identity, in the
// arguments of a call, within another plugin's call, and in a task.
func TestCallers_secretsAndPseudonymsAreTheirOwn(t *testing.T) {
	c := newKeepers(t, "secret: TOKEN per principal {reveal: true}", "caller: pseudonym")
	const value = "value-of-ann-0123456789"
	file := filepath.Join(c.dir, "secrets", fmt.Sprintf("TOKEN@%x.secret", sha256.Sum256([]byte(ann.Principal))))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(ann.Principal+"\n"+value), 0o600)); err != nil {
		t.Fatal(err)
	}
	name := c.key(0, ann, "caller/get", `{}`)
	if !regexp.MustCompile(`^{"pseudonym":"[0-9a-f]{32}"}$`).MatchString(name) || c.key(1, ann, "caller/get", `{}`) != name {
		t.Fatalf("got %s, want one pseudonym on both replicas", name)
	}
	attacks, seen := 0, map[string]string{}
	for replica := range c.replicas {
		if got := c.key(replica, ann, "secrets/get", `{"name":"TOKEN"}`); !strings.Contains(got, value) {
			t.Errorf("ann: got %s, want her value", got)
		}
		for _, id := range append(resembling, identity.Identity{Principal: "anonymous"}, identity.Identity{}) {
			for _, params := range []string{`{"name":"TOKEN"}`, `{"name":"TOKEN","principal":"token:ann"}`, `{"name":"TOKEN per principal"}`, fmt.Sprintf(`{"name":%q}`, strings.TrimSuffix(filepath.Base(file), ".secret"))} {
				for how, got := range map[string]string{"call": c.key(replica, id, "secrets/get", params), "nested": c.through(replica, id, "secrets/get", params)} {
					if attacks++; strings.Contains(got, "of-ann") || strings.Contains(got, "[secret:TOKEN]") {
						t.Errorf("%q, %s, %s: got %s, want no value", id.Principal, how, params, got)
					}
				}
			}
			for how, got := range map[string]string{"call": c.key(replica, id, "caller/get", `{"principal":"token:ann"}`), "nested": c.through(replica, id, "caller/get", `{"principal":"token:ann"}`)} {
				if attacks++; strings.Contains(got, strings.Trim(name, "{}")) || strings.Contains(strings.ReplaceAll(got, `\`, ""), strings.Trim(name, "{}")) {
					t.Errorf("%q, %s: got %s, want no pseudonym of ann", id.Principal, how, got)
				}
				if how == "call" && got != "{}" && seen[got] != "" && seen[got] != id.Principal {
					t.Errorf("%q and %q: got the same pseudonym %s", id.Principal, seen[got], got)
				} else if how == "call" {
					seen[got] = id.Principal
				}
			}
		}
		if got := c.asTask(replica, bob, "secrets/get", `{"name":"TOKEN"}`); strings.Contains(got, "[secret:TOKEN]") || strings.Contains(got, "of-ann") {
			t.Errorf("bob's task: got %s, want no value", got)
		}
	}
	if attacks < 20 {
		t.Errorf("got %d attacks, want 20", attacks)
	}
}
