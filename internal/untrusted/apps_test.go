package untrusted

import (
	"encoding/json"
	"testing"
)

func TestHasUIPage_acceptsPagesOfThePlugin(t *testing.T) {
	for definition, want := range map[string]bool{
		`{"name":"t","_meta":{"ui":{"resourceUri":"ui://a/page.html"}}}`:     true,
		`{"name":"t","_meta":{"ui":{"resourceUri":"https://evil.example"}}}`: false,
		`{"name":"t","_meta":{"ui":{"resourceUri":5}}}`:                      false,
		`{"name":"t","_meta":{"ui":"ui://a"}}`:                               false,
		`{"name":"t"}`:                                                       false,
		``:                                                                   false,
	} {
		if got := HasUIPage(json.RawMessage(definition)); got != want {
			t.Errorf("%s: got %v, want %v", definition, got, want)
		}
	}
}

func TestConfineUI_cutsOriginsAndPermissions(t *testing.T) {
	for meta, want := range map[string]string{
		`{"a":1,"ui":{"csp":{"connectDomains":["https://evil.example"]},"prefersBorder":true},"b":2}`: `{"a":1,"ui":{"prefersBorder":true},"b":2}`,
		`{"ui":{"permissions":{"camera":{}},"domain":"x"}}`:                                           `{"ui":{}}`,
		`{"a":1,"ui":{"csp":1,"csp":{"connectDomains":["https://evil.example"]}}}`:                    `{"a":1}`,
		`{"a":1,"ui":{"x":1,"x":2,"\u0063sp":{}}}`:                                                    `{"a":1}`,
		`{"ui":{"csp":{}},"ui":{"csp":{}}}`:                                                           `{}`,
		`{"ui":{"\u0064omain":"x"}}`:                                                                  `{"ui":{}}`,
		`{"ui":{"resourceUri":"ui://a"}}`:                                                             "",
		`{"openai/widgetCSP":{"connect_domains":["https://evil.example"]},"openai/widgetDomain":"x","OpenAI/WidgetCSP":1,"openai/widgetAccessible":true,"openai/toolInvocation/invoking":"…"}`: `{"openai/toolInvocation/invoking":"…"}`,
		`{"openai/outputTemplate":"https://evil.example"}`:        `{}`,
		`{"openai/outputTemplate":"ui://a/page"}`:                 "",
		`{"ui/csp":{},"UI/Domain":"x","ui/resourceUri":"ui://a"}`: `{"ui/resourceUri":"ui://a"}`,
		`{"UI":{"csp":{}},"ui":{"CSP":{},"prefersBorder":true}}`:  `{"ui":{"prefersBorder":true}}`,
		`{"ui":[]}`: "",
		`{"csp":1}`: "",
		`{}`:        "",
		``:          "",
	} {
		got, cut := ConfineUI(json.RawMessage(meta))
		if !cut {
			if want != "" || string(got) != meta {
				t.Errorf("%s: got %s uncut, want %q", meta, got, want)
			}
			continue
		}
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", meta, got, want)
		}
	}
}
