package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// toolWith returns a tool definition with one more member.
func toolWith(member string) string {
	return `{"tools":[{"name":"t","inputSchema":{"type":"object"},` + member + `}]}`
}

func parse(t *testing.T, raw string) *Manifest {
	t.Helper()
	m, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse_keepsUnknownFields(t *testing.T) {
	const definition = `{"name":"t","x-new":[1.50,1e400],"inputSchema":{"type":"object","properties":{"b":{},"a":{}}},"_meta":{"ui":{"resourceUri":"ui://x"}}}`
	m := parse(t, `{"future":true,"tools":[`+definition+`]}`)
	if len(m.Problems) > 0 || len(m.Tools) != 1 || string(m.Tools[0]) != definition {
		t.Errorf("got %q %s, want len(m.Problems) = 0, len(m.Tools) = 1, string(m.Tools[0]) = %v", m.Problems, m.Tools, definition)
	}
}

// _meta.ui may not ask the client for anything.
func TestParse_confinesPages(t *testing.T) {
	m := parse(t, `{"resources":[{"uri":"ui://x/page","name":"page","_meta":{"ui":{"csp":{"connectDomains":["https://evil.example"]},"prefersBorder":true}}}]}`)
	if want := `{"uri":"ui://x/page","name":"page","_meta":{"ui":{"prefersBorder":true}}}`; len(m.Resources) != 1 || string(m.Resources[0]) != want || len(m.Problems) != 1 {
		t.Errorf("got %q %s, want len(m.Resources) = 1, string(m.Resources[0]) = %v, len(m.Problems) = 1", m.Problems, m.Resources, want)
	}
}

func TestParse_refusesBrokenManifests(t *testing.T) {
	for _, raw := range []string{
		"", "null", "[]", "{", `{"tools":{}}`, `{"tools":1}`, `{"prompts":"x"}`, "{\"name\":\"\xff\"}", `{"a":1,"a":2}`,
		`{"tools":[` + strings.Repeat("{},", MaxEntries) + `{}]}`,
		`{"resourceTemplates":[` + strings.Repeat("{},", maxTemplates) + `{}]}`,
		`{"x":"` + strings.Repeat("x", MaxSize) + `"}`,
	} {
		if _, err := Parse([]byte(raw)); err == nil {
			t.Errorf("%.40q: got no error, want one", raw)
		}
	}
}

// An invalid entry is left out by itself, and named.
func TestParse_leavesBadEntriesOut(t *testing.T) {
	good := `{"name":"good","inputSchema":{"type":"object"}}`
	for bad, says := range map[string]string{
		`1`:                        "tools[0]",
		`{}`:                       "name is not a string",
		`{"name":""}`:              "name is not a string",
		`{"name":"a\u0001"}`:       "invisible characters",
		`{"name":"a\udb40\udc41"}`: "invisible characters",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a\u200b":{}}}}`:                            "inputSchema: /properties/a\\u200b holds invisible characters",
		`{"name":"t","inputSchema":{"type":"object","properties":{"default":{"enum":["a","a\u200b"]}}}}`:      "/properties/default/enum holds",
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"properties":{"a":{"const":"\u202e"}}}}`: "outputSchema: /properties/a/const holds",
		`{"name":"t","title":7,"inputSchema":{"type":"object","properties":{"a\u200b":{}}}}`:                  "title is not a string",
		`{"name":"` + strings.Repeat("n", 1025) + `"}`:                                                        "name is not a string",
		`{"name":"t"}`:                                                                                                                "inputSchema is missing",
		`{"name":"t","inputSchema":true}`:                                                                                             `"type":"object"`,
		`{"name":"t","inputSchema":{}}`:                                                                                               `"type":"object"`,
		`{"name":"t","inputSchema":{"type":"array"}}`:                                                                                 `"type":"object"`,
		`{"name":"t","description":1,"inputSchema":{"type":"object"}}`:                                                                "description is not a string",
		`{"name":"t","annotations":[],"inputSchema":{"type":"object"}}`:                                                               "annotations is not an object",
		`{"name":"t","hidden":"x","inputSchema":{"type":"object"}}`:                                                                   "hidden",
		`{"name":"t","inputSchema":{"type":"object","$ref":"https://example.com/x"}}`:                                                 "inputSchema",
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$ref":"file:///etc/passwd"}}`:                                   "outputSchema",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"integr"}}}}`:                                           `inputSchema: schema: /properties/a/type: is no valid schema: want one of "array", `,
		`{"name":"t","inputSchema":{"type":"object","required":"a"}}`:                                                                 "inputSchema: schema: /required: is no valid schema: want array, but got string",
		`{"name":"t","inputSchema":{"type":"object","$ref":"#/$defs/none"}}`:                                                          "inputSchema: schema: ",
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","items":7}}`: "outputSchema: schema: /items: is no valid schema",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":1,"a":2}}}`:                                                     "twice",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}}`:                         "header name",
		`{"name":"t","inputSchema":{"type":"object"},"x":"` + strings.Repeat("x", MaxDefinition) + `"}`:                               "KiB",
	} {
		m := parse(t, `{"tools":[`+bad+`,`+good+`]}`)
		if len(m.Entries(Tool)) != 1 || m.Entries(Tool)[0].ID != "good" {
			t.Errorf("%.60s: got %d tools, want only good", bad, len(m.Entries(Tool)))
		}
		if len(m.Problems) != 1 || !strings.Contains(m.Problems[0], says) || !strings.Contains(m.Problems[0], "is left out") {
			t.Errorf("%.60s: got %.200q, want len(m.Problems) = 1, m.Problems[0] with %v, m.Problems[0] with \"is left out\"", bad, m.Problems, says)
		}
	}
}

func TestParse_leavesOutRepeatedEntries(t *testing.T) {
	m := parse(t, `{"tools":[{"name":"a","title":"first","inputSchema":{"type":"object"}},{"name":"a","title":"second","inputSchema":{"type":"object"}}],
		"resources":[{"uri":"x:a","name":"a"},{"uri":"x:b","name":"a"},{"uri":"x:a","name":"c"}]}`)
	if len(m.Tools) != 1 || !strings.Contains(string(m.Tools[0]), "first") || len(m.Entries(Tool)) != 1 || len(m.Resources) != 2 {
		t.Errorf("got %s %s, want len(m.Tools) = 1, string(m.Tools[0]) with \"first\", len(m.Entries(Tool)) = 1, len(m.Resources) = 2", m.Tools, m.Resources)
	}
	if want := []string{`tool "a" is left out: it is there already`, `resource "x:a" is left out: it is there already`}; !slices.Equal(m.Problems, want) {
		t.Errorf("got problems %q, want %q", m.Problems, want)
	}
}

func TestParse_checksHeaderNames(t *testing.T) {
	for properties, ok := range map[string]bool{
		`"a":{"type":"string","x-mcp-header":"Region"}`:                                        true,
		`"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"}`:  true,
		`"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"Zone"}}}`:     true,
		`"x-mcp-header":{"type":"string"}`:                                                     true, // a property of that name
		`"a":{"type":"string","default":"x-mcp-header"}`:                                       true,
		`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`:    false,
		`"a":{"type":"number","x-mcp-header":"A"}`:                                             false,
		`"a":{"x-mcp-header":"A"}`:                                                             false,
		`"a":{"type":["string","null"],"x-mcp-header":"A"}`:                                    false,
		`"a":{"type":"string","x-mcp-header":"A b"}`:                                           false,
		`"a":{"type":"string","x-mcp-header":1}`:                                               false,
		`"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`:                    false,
		`"a":{"oneOf":[{"type":"string","x-mcp-header":"A"}]}`:                                 false,
		`"a":{"type":"object","properties":{"b":{"if":{"type":"string","x-mcp-header":"A"}}}}`: false,
	} {
		m := parse(t, `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{`+properties+`}}}]}`)
		if got := len(m.Entries(Tool)) == 1; got != ok {
			t.Errorf("%s: published %v, want %v; %q", properties, got, ok, m.Problems)
		}
	}
}

// An argument that looks like a secret should not be in a header: the tool is published with a warning.
func TestParse_warnsOfSecretsInHeaders(t *testing.T) {
	m := parse(t, `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"auth":{"type":"object","properties":{"apiKey":{"type":"string","x-mcp-header":"K"}}},
		"region":{"type":"string","x-mcp-header":"Region"},"who":{"type":"string","x-mcp-header":"Access-Token"}}}}]}`)
	if len(m.Entries(Tool)) != 1 || len(m.Problems) != 2 || !strings.Contains(m.Problems[0], `argument "auth.apiKey" looks like a secret`) || !strings.Contains(m.Problems[1], `"who"`) {
		t.Errorf("got %d tools, problems %q; want one, problems of auth.apiKey and who", len(m.Entries(Tool)), m.Problems)
	}
}

func TestParse_removesReservedKeys(t *testing.T) {
	for _, c := range []struct{ member, want string }{
		{`"_meta":{"io.modelcontextprotocol/x":1,"keep":2}`, `"_meta":{"keep":2}`},
		{`"_meta":{"com.mcp/x":1,"dev.sallyport/receipt":{},"com.example.mcp/x":3}`, `"_meta":{"com.example.mcp/x":3}`},
		{`"_meta":[1],"z":0`, `"z":0`},
		{`"icons":[{"src":"https://a/b.png"},{"src":"http://a/b.png"},{"src":"data:image/png;base64,AA"},{"src":"javascript:x"},{}]`,
			`"icons":[{"src":"https://a/b.png"},{"src":"data:image/png;base64,AA"}]`},
		{`"icons":[{"src":"file:///x"}],"z":0`, `"z":0`},
		{`"icons":{},"z":0`, `"z":0`},
		{`"hidden":false,"z":0`, `"z":0`},
	} {
		m := parse(t, toolWith(c.member))
		want := `{"name":"t","inputSchema":{"type":"object"},` + c.want + `}`
		if len(m.Tools) != 1 || string(m.Tools[0]) != want {
			t.Errorf("%s: %s, want %s", c.member, m.Tools, want)
		}
		if len(m.Problems) == 0 && !strings.Contains(c.member, "hidden") {
			t.Errorf("%s: got no problems, want one", c.member)
		}
	}
}

func TestParse_checksURIs(t *testing.T) {
	resource := func(uri string) string { return fmt.Sprintf(`{"resources":[{"uri":%q,"name":"n"}]}`, uri) }
	template := func(uri string) string {
		return fmt.Sprintf(`{"resourceTemplates":[{"uriTemplate":%q,"name":"n"}]}`, uri)
	}
	for raw, ok := range map[string]bool{
		resource("test://a/b"):               true,
		resource("note:x"):                   true,
		resource("file:///x"):                true, // grants are checked in Publish
		resource("sallyport://plugins"):      false,
		resource("SALLYPORT:x"):              false,
		resource("/a/b"):                     false,
		resource("a b"):                      false,
		resource("test://a/{b}"):             false,
		template("test://a/{b}"):             true,
		template("test://a{/b*}"):            true,
		template("test://a{?b}"):             true,
		template("file:///{+path}"):          true,
		template("test://a"):                 true,
		template("test://a{b}"):              false,
		template("test://{b}"):               false,
		template("test://{b}/c"):             false,
		template("{+uri}"):                   false,
		template("{scheme}://a/b"):           false,
		template("te{x}t://a/b"):             false,
		template("test:{x}"):                 false,
		template("sallyport://x/{y}"):        false,
		template("test://a/{b"):              false,
		`{"resources":[{"uri":"test://a"}]}`: false,
	} {
		m := parse(t, raw)
		if got := len(m.Entries(Resource))+len(m.Entries(Template)) == 1; got != ok {
			t.Errorf("%s: published %v, want %v; %q", raw, got, ok, m.Problems)
		}
	}
}

func TestParse_checksPrompts(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"name":"p"}`: true,
		`{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}`: true,
		`{"name":"p","arguments":{}}`:                                          false,
		`{"name":"p","arguments":[{}]}`:                                        false,
		`{"name":"p","arguments":[{"name":"a"},{"name":"a"}]}`:                 false,
	} {
		m := parse(t, `{"prompts":[`+raw+`]}`)
		if got := len(m.Entries(Prompt)) == 1; got != ok {
			t.Errorf("%s: published %v, want %v; %q", raw, got, ok, m.Problems)
		}
	}
}

func TestParse_readsTheState(t *testing.T) {
	for state, problems := range map[string]int{"call": 0, "session": 0, "plugin": 1, "forever": 1} {
		if m := parse(t, `{"state":"`+state+`"}`); len(m.Problems) != problems {
			t.Errorf("%s: got %q, want len(m.Problems) = %v", state, m.Problems, problems)
		}
	}
}

// Parsing the result again changes nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"prompts":[{"name":"a"}]}`))
	f.Add([]byte(toolWith(`"_meta":{"io.modelcontextprotocol/x":1},"icons":[{"src":"x:y"}]`)))
	f.Add([]byte(`{"resourceTemplates":[{"uriTemplate":"a://b/{c}","name":"n"}],"resources":[{"uri":"a:b","name":"n"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Parse(raw)
		if err != nil {
			return
		}
		for key, list := range map[string][]json.RawMessage{
			"tools": m.Tools, "resources": m.Resources, "resourceTemplates": m.Templates, "prompts": m.Prompts,
		} {
			for _, kept := range list {
				again, err := Parse([]byte(`{"` + key + `":[` + string(kept) + `]}`))
				if err != nil || again.Refused() != nil || len(again.Problems) > 0 {
					t.Errorf("%s: got %v, %+v, want again.Refused() = nil, len(again.Problems) = 0", kept, err, again)
				}
			}
		}
	})
}

func TestRefused_returnsTheFirstProblem(t *testing.T) {
	if err := parse(t, toolWith(`"icons":{}`)).Refused(); err != nil {
		t.Errorf("got %v for a manifest that loses nothing, want no error", err)
	}
	m := parse(t, `{"tools":[{"name":"a"}],"prompts":[{}]}`)
	if err := m.Refused(); err == nil || !strings.HasPrefix(err.Error(), `tool "a" is left out: inputSchema`) {
		t.Errorf("got %v, want error beginning with \"tool \"a\" is left out: inputSchema\"", err)
	}
}

func TestOf_holdsOneEntry(t *testing.T) {
	m := Of(Resource, Entry{ID: "sallyport://x"})
	if got := m.Entries(Resource); len(got) != 1 || got[0].ID != "sallyport://x" || m.Entries(Tool) != nil {
		t.Errorf("got %+v, want number = 1, got[0].ID = \"sallyport://x\", m.Entries(Tool) = nil", m)
	}
}

// Texts of a definition are cleaned everywhere, for any property name.
func TestParse_cleansByPlace(t *testing.T) {
	const unseen = `\u001b[2J\udb40\udc41\u202e`
	for _, name := range []string{"name", "uri", "uriTemplate", "pattern", "default", "enum", "const", "examples", "icons", "_meta", "title", "x"} {
		inner := `{"$":"@","more":{"$":["@"]}}`
		if slices.Contains([]string{"enum", "const", "pattern", "examples", "title"}, name) { // values of a special form
			inner = `{"more":{"$":["@"]}}`
		}
		raw := strings.ReplaceAll(strings.ReplaceAll(`{"tools":[{"name":"t","title":"@","annotations":{"title":"@"},"y":{"$":"@"},"_meta":{"k":{"$":"@"}},
			"icons":[{"src":"https://a.example/i@"}],
			"inputSchema":{"type":"object","description":"@","properties":{"$":{"type":"string","title":"@","description":"@","default":"@","examples":["@"],"x":{"$":"@"},
				"properties":{"$":{"description":"@","items":`+inner+`}}}},"$defs":{"$":{"description":"@"}}}}],
			"prompts":[{"name":"p","description":"@","y":{"$":"@"},"arguments":[{"name":"a","title":"@","description":"@","y":{"$":"@"}}]}],
			"resources":[{"uri":"x:a","name":"@n","description":"@","mimeType":"@","_meta":{"$":"@"}}],
			"resourceTemplates":[{"uriTemplate":"x://a/{b}","name":"@n","title":"@","y":{"$":"@"}}]}`, "@", unseen), `"$"`, `"`+name+`"`)
		m := parse(t, raw)
		kinds := 0
		for _, k := range []Kind{Tool, Prompt, Resource, Template} {
			for _, e := range m.Entries(k) {
				kinds++
				if n := sanitize.Count(e.Members.Append(nil)); n != 0 {
					t.Errorf("%s: got %d hidden characters in %s, want none", name, n, e.Members.Append(nil))
				}
			}
		}
		if kinds != 4 {
			t.Errorf("%s: got %d entries, problems %q; want 4", name, kinds, m.Problems)
		}
	}
	for raw, says := range map[string]string{
		`{"prompts":[{"name":"p","arguments":[{"name":"a` + unseen + `"}]}]}`:          `prompt "p" is left out: argument a\x1b[2J\U000e0041\u202e has a name with invisible characters`,
		`{"resources":[{"uri":"x:a` + unseen + `","name":"n"}]}`:                       "resources[0] is left out: uri is not a string of 1 to",
		`{"resourceTemplates":[{"uriTemplate":"x://a` + unseen + `/{b}","name":"n"}]}`: "resourceTemplates[0] is left out: uriTemplate is not a string of 1 to",
	} {
		if m := parse(t, raw); m.Refused() == nil || !strings.HasPrefix(m.Refused().Error(), says) {
			t.Errorf("%s: got %q, want m.Refused() not nil, m.Refused().Error() beginning with %v", raw, m.Problems, says)
		}
	}
	m := parse(t, `{"tools":[{"name":"t","inputSchema":{"type":"object"},"_meta":{"mc\u200bp.dev/x":1,"traceparen\u200bt":2,"mine/x":3}}]}`)
	if got := string(m.Entries(Tool)[0].Members.Get("_meta")); got != `{"mine/x":3}` {
		t.Errorf("a reserved key that hides: got %s, want only mine/x", got)
	}
}
