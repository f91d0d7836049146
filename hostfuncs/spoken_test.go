package hostfuncs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// TestAsk_marksWholeForm checks that every visible text of a form is attributed to the plugin, on one line,
// without images and links, and that the values of choices are unchanged.
func TestAsk_marksWholeForm(t *testing.T) {
	blanks := strings.Repeat(" \u3000\t", 300)
	p := &person{}
	g := askGate(t, p, nil, nil, "elicitation")
	form := `{"message":"hi` + blanks + `Sallyport: ![x](https://evil.example/?q) [allow](//evil.example) <img src=x>now","requestedSchema":{"type":"object","title":"[Sallyport] allow","description":"d` + blanks + `e",
		"properties":{"a":{"type":"boolean","default":true,"title":"allow fs: write ~/**","description":"see https://evil.example/x or www.evil.example"},
		"b":{"type":"string","enum":["x","y"],"enumNames":["Sallyport","![](data:image/png;base64,AA)z"]},
		"c":{"type":"string","oneOf":[{"const":"x","title":"Yes","description":"w"}],"format":"hostname2"},
		"d":{"type":"array","title":"D","items":{"anyOf":[{"const":"x","title":"Yes"}]}},"e":{"type":"string","format":"email"}},"required":["a"]}}`
	_, _ = g.Ask(t.Context(), "elicitation/create", json.RawMessage(strings.ReplaceAll(form, "\t", "")), nil)
	want := `{"message":"Plugin demo asks: hi Sallyport: [x] () [allow] () now","requestedSchema":{"type":"object","title":"Plugin demo: [Sallyport] allow","description":"Plugin demo: d e",` +
		`"properties":{"a":{"type":"boolean","default":true,"title":"Plugin demo: allow fs: write ~/**","description":"Plugin demo: see or"},` +
		`"b":{"type":"string","enum":["x","y"],"enumNames":["Plugin demo: Sallyport","Plugin demo: [] ()z"],"title":"Plugin demo: b"},` +
		`"c":{"type":"string","oneOf":[{"const":"x","title":"Plugin demo: Yes","description":"Plugin demo: w"}],"title":"Plugin demo: c"},` +
		`"d":{"type":"array","title":"Plugin demo: D","items":{"anyOf":[{"const":"x","title":"Plugin demo: Yes"}]}},"e":{"type":"string","format":"email","title":"Plugin demo: e"}},"required":["a"]},"mode":"form"}`
	if got := strings.Join(p.rounds, ""); got != "elicitation/create "+want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAsk_removesLinksAndImages checks that no URL remains of an image or link, in any syntax.
func TestAsk_removesLinksAndImages(t *testing.T) {
	for _, text := range []string{
		"![a](https://evil.example/b)", "![a]( <https://evil.example/b> )", "[![a](https://evil.example/b)](https://evil.example)", "[a]: https://evil.example", "<https://evil.example>",
		"HTTPS://evil.example", "https:\\\\evil.example", "//evil.example", "\\\\evil.example\\x", "www.evil.example", "javascript:evil.example", "mailto:x@evil.example", "data:text/html,evil.example",
		`<img src="https://evil.example/x">`, "<a href=//evil.example>x</a>", "<svg/onload=evil.example>", "vscode://evil.example/x", "slack://evil.example", "ht\u200btps://evil.example", "ｈttps://evil.example",
		"https:// evil.example/", "[a](https://evil.example\n)", "![a][b]\n\n[b]: //evil.example",
	} {
		p := &person{}
		raw, _ := json.Marshal(map[string]any{"message": "see " + text, "requestedSchema": json.RawMessage(nameForm)})
		_, _ = askGate(t, p, nil, nil, "elicitation").Ask(t.Context(), "elicitation/create", raw, nil)
		var asked struct{ Message string }
		if _, params, ok := strings.Cut(strings.Join(p.rounds, ""), " "); !ok || json.Unmarshal([]byte(params), &asked) != nil {
			t.Fatalf("%q: got no question, want one", text)
		}
		for _, left := range []string{"](", "://", "<", "![", "www.", "//evil", "script:evil", "mailto:", "data:"} {
			if strings.Contains(strings.ToLower(asked.Message), left) {
				t.Errorf("%q: got question %q, want no %q in it", text, asked.Message, left)
			}
		}
	}
}

// TestAsk_breaksBareHosts checks that a bare host name is not shown as a link anywhere in a form, and that other words
// with dots are unchanged.
func TestAsk_breaksBareHosts(t *testing.T) {
	for text, want := range map[string]string{
		"open evil.example/x now": "open evil[.]example/x now", "evil.example": "evil[.]example", "EVIL.Example.": "EVIL[.]Example.", "(evil.com)": "(evil[.]com)",
		"a.b.evil.co.uk:8080/x?y": "a[.]b[.]evil[.]co[.]uk:8080/x?y", "x@evil.example": "x@evil[.]example", "evil．example": "evil[.]example", "evil。com/x": "evil[.]com/x",
		"пример.рф": "пример[.]рф", "bücher.de": "bücher[.]de", "xn--e1afmkfd.xn--p1ai": "xn--e1afmkfd[.]xn--p1ai", `evil\.example`: "evil[.]example", "evil&period;example": "evil&amp;period;example",
		"evil&#0046;example": "evil&amp;#0046;example", "http:evil.example": "http:evil[.]example", "evil<b>.</b>example": "evil[.]example", "10.0.0.1/x": "10[.]0[.]0[.]1/x", "127.0.0.1:80": "127[.]0[.]0[.]1:80",
		"evil\u200b.example": "evil[.]example", "localhost.test/": "localhost[.]test/", "abc.onion": "abc[.]onion", "**evil**.example": "**evil**.example",
		"see index.html": "see index.html", "v1.2.3": "v1.2.3", "e.g. this": "e.g. this", "i.e. that": "i.e. that", "main.go": "main.go", "Node.js": "Node.js", "1.5 or 2,5": "1.5 or 2,5",
		"a.m./p.m.": "a.m./p.m.", "U.S. law": "U.S. law", "src/main.go:12": "src/main.go:12", "data.json, notes.txt": "data.json, notes.txt", "1.2.3.4": "1.2.3.4", "Wait... what?": "Wait... what?",
		"Done.": "Done.", "保存しました。公司の名前": "保存しました。公司の名前", "x.y()": "x.y()", ".gitignore": ".gitignore", "archive.tar.gz": "archive.tar.gz", "10.5/20": "10.5/20", "R&D": "R&D",
	} {
		p := &person{}
		raw, _ := json.Marshal(map[string]any{"message": text, "requestedSchema": map[string]any{"type": "object", "title": text,
			"properties": map[string]any{"a": map[string]any{"type": "string", "title": text, "description": text}}}})
		_, _ = askGate(t, p, nil, nil, "elicitation").Ask(t.Context(), "elicitation/create", raw, nil)
		var asked struct {
			Message         string
			RequestedSchema struct {
				Title      string
				Properties map[string]struct{ Title, Description string }
			}
		}
		if _, params, ok := strings.Cut(strings.Join(p.rounds, ""), " "); !ok || json.Unmarshal([]byte(params), &asked) != nil {
			t.Fatalf("%q: got no question, want one", text)
		}
		form := asked.RequestedSchema
		for _, got := range []string{asked.Message, form.Title, form.Properties["a"].Title, form.Properties["a"].Description} {
			if _, got, _ = strings.Cut(got, ": "); got != want {
				t.Errorf("%q is shown as %q, want %q", text, got, want)
			}
		}
	}
}

// TestAsk_choiceThatIsLinkGetsTitle checks that a choice that a client could show as a link gets an inert title and
// keeps its value.
func TestAsk_choiceThatIsLinkGetsTitle(t *testing.T) {
	const fields = `"a":{"type":"string","enum":["evil.example","b"]},"b":{"type":"array","items":{"type":"string","enum":["x@evil.example"]}},` +
		`"c":{"type":"string","oneOf":[{"const":"evil.example/x"},{"const":"y"}]},"d":{"type":"string","enum":["main.go"]},"e":{"type":"string","enum":["evil.example"],"enumNames":["E"]}`
	p := &person{answers: map[string]string{"elicitation/create": `{"action":"accept","content":{"a":"evil.example","b":["x@evil.example"],"c":"evil.example/x"}}`}}
	got, err := askGate(t, p, nil, nil, "elicitation").Ask(t.Context(), "elicitation/create", json.RawMessage(`{"message":"m","requestedSchema":{"type":"object","properties":{`+fields+`}}}`), nil)
	if err != nil || !strings.Contains(string(got), `"b":["x@evil.example"]`) {
		t.Errorf("got %s, %v, want the values unchanged", got, err)
	}
	const want = `"properties":{"a":{"type":"string","title":"Plugin demo: a","oneOf":[{"const":"evil.example","title":"Plugin demo: evil[.]example"},{"const":"b"}]},` +
		`"b":{"type":"array","items":{"type":"string","anyOf":[{"const":"x@evil.example","title":"Plugin demo: x@evil[.]example"}]},"title":"Plugin demo: b"},` +
		`"c":{"type":"string","oneOf":[{"const":"evil.example/x","title":"Plugin demo: evil[.]example/x"},{"const":"y"}],"title":"Plugin demo: c"},` +
		`"d":{"type":"string","enum":["main.go"],"title":"Plugin demo: d"},"e":{"type":"string","enum":["evil.example"],"enumNames":["Plugin demo: E"],"title":"Plugin demo: e"}}`
	if asked := strings.Join(p.rounds, ""); !strings.Contains(asked, want) {
		t.Errorf("got  %s\nwant %s", asked, want)
	}
	for _, field := range []string{`{"type":"string","enum":["https://evil.example/x"]}`, `{"type":"string","enum":["www.evil.example"]}`, `{"type":"string","enum":["evil．example"]}`,
		`{"type":"string","oneOf":[{"const":"//evil.example"}]}`, `{"type":"array","items":{"type":"string","enum":["![](x)"]}}`, `{"type":"array","items":{"anyOf":[{"const":"javascript:x"}]}}`} {
		p := &person{}
		_, err := askGate(t, p, nil, nil, "elicitation").Ask(t.Context(), "elicitation/create", json.RawMessage(`{"message":"m","requestedSchema":{"type":"object","properties":{"a":`+field+`}}}`), nil)
		wantAsk(t, err, runtime.KindInvalid, `field "a" of the form has a choice that is an address: give each choice a title`, "")
	}
}

// TestAsk_typedFieldsAskForNoSecret checks that a form with typed fields asks for no secret, in its message or fields,
// in any spelling.
func TestAsk_typedFieldsAskForNoSecret(t *testing.T) {
	ask := func(message, fields string) error {
		p := &person{answers: map[string]string{"elicitation/create": `{"action":"decline"}`}}
		raw, _ := json.Marshal(map[string]any{"message": message, "requestedSchema": json.RawMessage(`{"type":"object","properties":{` + fields + `}}`)})
		_, err := askGate(t, p, nil, nil, "elicitation").Ask(t.Context(), "elicitation/create", raw, nil)
		return err
	}
	const typed, chosen = `"answer":{"type":"string"}`, `"go_on":{"type":"boolean"},"which":{"type":"string","enum":["a"]}`
	for _, word := range []string{"password", "pass\u00adword", "ｐａｓｓｗｏｒｄ", "pаssword", "Passwort", "密码", "mot de passe", "пароль", "p a s s w o r d", "PIN"} {
		if ask("Enter your "+word+" please", typed) == nil || ask("x", `"a":{"type":"integer","description":"your `+word+`"}`) == nil {
			t.Errorf("a form that asks for the %s: got success, want a refusal", word)
		}
		if err := ask("Your "+word+" is old. Go on?", chosen); err != nil {
			t.Errorf("a choice about the %s: got %v, want success", word, err)
		}
	}
	if err := ask("What is your name?", typed); err != nil {
		t.Error(err)
	}
	if err := ask("x", `"a":{"type":"string","description":"`+strings.Repeat("x", 16<<10)+`"}`); err == nil || !strings.Contains(err.Error(), "an elicitation is longer than 16384 bytes") {
		t.Errorf("a long form: got %v, want a refusal of more than 16384 bytes", err)
	}
}
