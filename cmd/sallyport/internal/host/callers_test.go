package host

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
)

// ruleNames are written in generated rules, and callerNames are generated callers, many of them alike.
var (
	ruleNames   = []string{"token:ann", "token:Ann", "group:ops", "group:dev", "scope:read", "scope:ops", "anonymous", "all"}
	callerNames = []string{"token:ann", "token:Ann", "token:bob", "anonymous", "stdio:1000", "all", "ops"}
	roleNames   = []string{"ops", "dev", "read", "Ops", "token:ann", "all"}
	toolsOfAll  = []string{"a", "b", "c"}
	// scopesOfRules are needed for calls of listed tools.
	scopesOfRules = []string{"read", "dev"}
)

// some returns each word with a probability of a third.
func some(r *rand.Rand, words []string) (chosen []string) {
	for _, word := range words {
		if r.IntN(3) == 0 {
			chosen = append(chosen, word)
		}
	}
	return chosen
}

// generated returns a configuration of the plugins p and q.
func generated(r *rand.Rand) string {
	quoted := func(words []string) string {
		text, _ := json.Marshal(words)
		return string(text)
	}
	var b strings.Builder
	if members := some(r, callerNames[:5]); len(members) > 0 {
		fmt.Fprintf(&b, "groups:\n  ops: %s\n", quoted(members))
	}
	b.WriteString("plugins:\n")
	for _, name := range []string{"p", "q"} {
		fmt.Fprintf(&b, "  %s:\n    prefix: true\n", name)
		for i := range r.IntN(4) {
			if i == 0 {
				b.WriteString("    callers:\n")
			}
			who := some(r, ruleNames)
			if len(who) == 0 {
				who = ruleNames[2:3]
			}
			fmt.Fprintf(&b, "      - who: %s\n", quoted(who))
			if only := some(r, toolsOfAll); len(only) > 0 {
				fmt.Fprintf(&b, "        publish: %s\n", quoted(only))
			}
			if scopes := some(r, scopesOfRules); len(scopes) > 0 {
				fmt.Fprintf(&b, "        scopes: %s\n", quoted(scopes))
			}
		}
	}
	return b.String()
}

// sallyport can, the list, the search and the call agree, for generated rules and callers.
func TestCallers_canListSearchAndCallAgree(t *testing.T) {
	reg, err := registry.New(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close(context.Background())
	answer := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[]}`), nil
	}
	for _, name := range []string{"p", "q"} {
		manifest := `{"tools":[{"name":"a","description":"word","inputSchema":{"type":"object"}},{"name":"b","description":"word","inputSchema":{"type":"object"}},{"name":"c","description":"word","inputSchema":{"type":"object"}}]}`
		if err := reg.AddGo(name, []byte(manifest), answer); err != nil {
			t.Fatal(err)
		}
	}
	plain := protocol.NewServer(reg, nil)
	defer plain.Close(context.Background())
	search := protocol.NewServer(reg, &protocol.Options{Search: true})
	defer search.Close(context.Background())
	r := rand.New(rand.NewPCG(16, 2))
	shown, lacking, hidden := 0, 0, 0
	for range 60 {
		text := generated(r)
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Options{File: file})
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if err := reg.Configure(pluginConfigs(s)); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			id, err := identity.New(callerNames[r.IntN(len(callerNames))], some(r, roleNames), some(r, roleNames))
			if err != nil {
				t.Fatal(err)
			}
			list := respond(t, plain, id, "tools/list", "")
			found := respond(t, search, id, "tools/call", `"name":"sallyport-search","arguments":{"query":"word"},`)
			for _, p := range s.Plugins {
				for _, tool := range toolsOfAll {
					seen, want := len(p.Callers) == 0, len(p.Callers) == 0
					for _, r := range p.Callers {
						rule := r.Rule()
						seen = seen || r.Callers.Has(id) && rule.Publishes(tool)
						want = want || r.Refusal(id, tool) == ""
					}
					name := p.Name + "-" + tool
					got := []bool{strings.Contains(list, `"`+name+`"`), strings.Contains(found, `"`+name+`"`) || strings.Contains(found, `\"`+name+`\"`),
						called(t, respond(t, plain, id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{},`, name)), name, seen),
						called(t, respond(t, search, id, "tools/call", fmt.Sprintf(`"name":"sallyport-call","arguments":{"name":%q,"arguments":{}},`, name)), name, seen)}
					if !slices.Equal(got, []bool{seen, seen, want, want}) {
						t.Fatalf("%s\n%v, %s: got list, search, call and call by search %v, want %v and %v", text, id, name, got, seen, want)
					}
					switch {
					case want:
						shown++
					case seen:
						lacking++
					default:
						hidden++
					}
				}
			}
		}
	}
	if shown < 500 || lacking < 100 || hidden < 500 {
		t.Errorf("got %d callable, %d listed and %d hidden tools, want 500, 100 and 500", shown, lacking, hidden)
	}
}

// respond sends one request for a caller.
func respond(t *testing.T, s *protocol.Server, id identity.Identity, method, params string) string {
	t.Helper()
	c := s.Connect(protocol.ConnOptions{Principal: id.Principal, Roles: id.Roles()})
	defer c.Close()
	m := &jsonrpc.Message{ID: json.RawMessage("1"), Method: method, Params: json.RawMessage(`{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`)}
	return string(c.Handle(t.Context(), m, func([]byte) {}).Body)
}

// called reports whether a call had a result. The error of a listed tool is the lack of a scope, and that of others an
// unknown tool.
func called(t *testing.T, answer, name string, listed bool) bool {
	t.Helper()
	if strings.Contains(answer, `"resultType":"complete"`) {
		return true
	}
	if want := map[bool]string{true: "needs the scope", false: "unknown tool"}[listed]; !strings.Contains(answer, want) {
		t.Fatalf("%s: got %s, want a result or %s", name, answer, want)
	}
	return false
}
