package protocol

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// foldingGuest is the request as decoded by a plugin with encoding/json, which ignores case.
type foldingGuest struct {
	Name, URI string
	Arguments json.RawMessage
	Ref       struct{ Type, Name, URI string }
	Argument  struct{ Name, Value string }
	Context   struct{ Arguments map[string]string }

	tool struct {
		A any
		B struct{ C any }
	}
	prompt struct{ Who any }
}

func readFolding(params []byte) (g foldingGuest, err error) {
	if err = json.Unmarshal(params, &g); err == nil && g.Arguments != nil && g.Name == "sum" {
		err = json.Unmarshal(g.Arguments, &g.tool)
	} else if err == nil && g.Arguments != nil {
		err = json.Unmarshal(g.Arguments, &g.prompt)
	}
	g.Arguments = nil
	return g, err
}

// TestRequest_refusesKeysThatParsersConfuse adds members that resemble those of a method. A plugin that folds the case
// of keys, or ends them at a NUL, must read the values checked by the host, or the request must be refused.
func TestRequest_refusesKeysThatParsersConfuse(t *testing.T) {
	var told json.RawMessage
	catalog := newCatalog(t, func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		told = append(json.RawMessage(nil), params...)
		if method == "completion/complete" {
			return json.RawMessage(`{"completion":{"values":[]}}`), nil
		}
		return said(method, params), nil
	})
	s := NewServer(catalog, nil)
	searching := NewServer(catalog, &Options{Search: true})
	random := rand.New(rand.NewPCG(1, 2))
	requests, called := 0, 0
	for _, base := range []struct {
		method, params, reads string
		server                *Server
	}{
		{"tools/call", `{"name":"t-sum","arguments":{"a":1,"b":{"c":2}},"_meta":{` + modernMeta + `}}`,
			`{"name":"sum","arguments":{"a":1,"b":{"c":2}}}`, s},
		{"tools/call", `{"name":"sallyport-call","arguments":{"name":"t-sum","arguments":{"a":1}},"_meta":{` + modernMeta + `}}`,
			`{"name":"sum","arguments":{"a":1}}`, searching},
		{"prompts/get", `{"name":"t-args","arguments":{"who":"a"},"_meta":{` + modernMeta + `}}`, `{"name":"args","arguments":{"who":"a"}}`, s},
		{"resources/read", `{"uri":"test://text","_meta":{` + modernMeta + `}}`, `{"uri":"test://text"}`, s},
		{"resources/read", `{"uri":"test://item/1","_meta":{` + modernMeta + `}}`, `{"uri":"test://item/1"}`, s},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"t-args"},"argument":{"name":"who","value":"x"},"context":{"arguments":{}},"_meta":{` + modernMeta + `}}`,
			`{"ref":{"type":"ref/prompt","name":"args"},"argument":{"name":"who","value":"x"},"context":{"arguments":{}}}`, s},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"x"},"_meta":{` + modernMeta + `}}`,
			`{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"x"}}`, s},
	} {
		want, err := readFolding([]byte(base.reads))
		if err != nil {
			t.Fatal(err)
		}
		c := base.server.Connect(ConnOptions{})
		for range 600 {
			params := disturbed(random, json.RawMessage(base.params))
			told = nil
			handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"`+base.method+`","params":`+string(params)+`}`)
			requests++
			if told == nil {
				continue
			}
			called++
			got, err := readFolding(told)
			if err != nil {
				t.Fatalf("%s\nis told as %s: %v", params, told, err)
			}
			if !reflect.DeepEqual(got, want) || strings.Contains(string(told), `\u0000`) {
				t.Errorf("%s %s\ngot %s, want the checked values", base.method, params, told)
			}
		}
		c.Close()
	}
	t.Logf("%d requests, of which %d reached the plugin", requests, called)
	if called < requests/20 || called > requests*19/20 {
		t.Errorf("got %d of %d requests at the plugin, want most, and not all", called, requests)
	}
}

// disturbed adds members to an object, or to one inside it, that some parsers take for its own.
func disturbed(random *rand.Rand, raw json.RawMessage) json.RawMessage {
	o, _ := jsonraw.ParseObject(raw)
	if at := random.IntN(len(o)); jsonraw.IsObject(o[at].Value) && o[at].Key != "_meta" && random.IntN(2) == 0 && len(o[at].Value) > 2 {
		o[at].Value = disturbed(random, o[at].Value)
		return o.Append(nil)
	}
	keys := []string{"name", "arguments", "uri", "ref", "argument", "context", "_meta", "type", "value", "a", "b", "c", "who", "id"}
	values := []string{`"t-any"`, `"other"`, `7`, `null`, `{"a":"x"}`, `{"name":"t-any","arguments":{}}`, `[]`}
	for range 1 + random.IntN(2) {
		key := keys[random.IntN(len(keys))]
		m := jsonraw.Member{Key: respelt(random, key), Value: json.RawMessage(values[random.IntN(len(values))])}
		if o.Get(m.Key) == nil {
			at := random.IntN(len(o) + 1)
			o = append(o[:at:at], append(jsonraw.Object{m}, o[at:]...)...)
		}
	}
	return o.Append(nil)
}

// respelt returns a variant of a key that some parsers take for it.
func respelt(random *rand.Rand, key string) string {
	if random.IntN(4) == 0 {
		return key + "\x00" + []string{"", "x"}[random.IntN(2)]
	}
	return strings.Map(func(r rune) rune {
		for range random.IntN(3) {
			r = unicode.SimpleFold(r)
		}
		return r
	}, key[:len(key)-1]) + strings.ToUpper(key[len(key)-1:])
}

// TestRequest_namesTheConfusableKey checks that the error names the member.
func TestRequest_namesTheConfusableKey(t *testing.T) {
	s := NewServer(newCatalog(t, (&player{t: t}).obey), nil)
	c := s.Connect(ConnOptions{})
	defer c.Close()
	for params, want := range map[string]string{
		`"name":"t-any","Name":"t-sum"`:                       `params hold a key that readers can take for another one: /Name`,
		`"name":"t-any","arguments":{"x":{"s":1,"\u017f":2}}`: `params hold a key that readers can take for another one: /arguments/x/` + "\u017f",
		`"name":"t-any","name":"t-sum"`:                       `params hold a key twice: /name`,
		`"name":"t-sum","arguments":{"a":1,"B":{"c":"x"}}`:    `invalid arguments: /B: is the property b in another case`,
		`"name":"t-sum","arguments":{"A":1}`:                  `invalid arguments: /A: is the property a in another case`,
	} {
		got := handle(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`,"_meta":{`+modernMeta+`}}}`)
		if !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %s, want %s", params, got.Body, want)
		}
	}
}
