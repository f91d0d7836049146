package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

func TestCheckContent(t *testing.T) {
	for block, want := range map[string]string{
		`{"type":"text","text":""}`:                                  "",
		`{"type":"text","text":null}`:                                ".text must be a string",
		`{"type":"image","data":"","mimeType":"image/png"}`:          "",
		`{"type":"image","mimeType":"image/png"}`:                    ".data must be a string",
		`{"type":"audio","data":"","mimeType":"audio/wav"}`:          "",
		`{"type":"audio","data":""}`:                                 ".mimeType must be a string",
		`{"type":"resource_link","uri":"a:b","name":"n"}`:            "",
		`{"type":"resource_link","uri":"a:b"}`:                       ".name must be a string",
		`{"type":"resource","resource":{"uri":"a:b","text":"t"}}`:    "",
		`{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}`: "",
		`{"type":"resource","resource":{"text":"t"}}`:                ".resource.uri must be a string",
		`{"type":"resource","resource":{"uri":"a:b","text":1}}`:      ".resource needs text or blob, a string",
		`{"type":"resource","resource":"a:b"}`:                       ".resource must be an object",
		`{"type":"resource"}`:                                        ".resource must be an object",
		`{"type":"tool_use","anything":1}`:                           "",
		`{"type":1}`:                                                 ".type must be a string",
		`{}`:                                                         ".type must be a string",
	} {
		got := ""
		if err := checkContent(json.RawMessage(block)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q", block, got)
		}
	}
}

func TestCheckMessage(t *testing.T) {
	for message, want := range map[string]string{
		`{"role":"user","content":{"type":"text","text":"a"}}`:      "",
		`{"role":"assistant","content":{"type":"text","text":"a"}}`: "",
		`{"role":"User","content":{"type":"text","text":"a"}}`:      ".role must be user or assistant",
		`{"content":{"type":"text","text":"a"}}`:                    ".role must be user or assistant",
		`{"role":"user","content":"a"}`:                             ".content must be an object",
		`{"role":"user","content":{"type":"text"}}`:                 ".content.text must be a string",
	} {
		got := ""
		if err := checkMessage(json.RawMessage(message)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q", message, got)
		}
	}
}

func TestCheckPromptArguments(t *testing.T) {
	const definition = `{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"},{"name":"c","required":false}]}`
	for args, want := range map[string]string{
		`{"a":"1"}`:                 "",
		`{"a":"1","b":"2","x":"3"}`: "",
		`{}`:                        `argument "a" is required`,
		`null`:                      `argument "a" is required`,
		``:                          `argument "a" is required`,
		`{"b":"2"}`:                 `argument "a" is required`,
		`{"a":1}`:                   `argument "a" must be a string`,
		`{"a":"1","b":null}`:        `argument "b" must be a string`,
		`[]`:                        "params.arguments must be an object",
	} {
		got := ""
		if err := checkPromptArguments(json.RawMessage(definition), json.RawMessage(args)); err != nil {
			got = strings.TrimSuffix(err.Error(), " (-32602)")
		}
		if got != want {
			t.Errorf("%s: %q", args, got)
		}
	}
	if err := checkPromptArguments(json.RawMessage(`{"name":"p"}`), nil); err != nil {
		t.Error(err)
	}
}

// A hundred values pass as they are; of more the first hundred do, and the answer says so.
func TestCheckCompletion(t *testing.T) {
	values := func(n int) string {
		return `["v"` + strings.Repeat(`,"v"`, n-1) + `]`
	}
	for _, test := range []struct {
		name, completion string
		count            int
		total, hasMore   string
	}{
		{"few", `{"values":[],"x":1}`, 0, "", ""},
		{"of no known kind", `{"values":["v"],"total":"9","hasMore":1}`, 1, "", ""},
		{"full", `{"values":` + values(100) + `}`, 100, "", ""},
		{"more", `{"values":` + values(101) + `}`, 100, "101", "true"},
		{"many", `{"values":` + values(500) + `,"total":9000,"hasMore":false}`, 100, "9000", "true"},
	} {
		o, err := checkCompletion(json.RawMessage(`{"completion":` + test.completion + `,"y":2}`))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		c := o.Get("completion")
		list, _ := rawjson.Elements(rawjson.Get(c, "values"))
		total, more := string(rawjson.Get(c, "total")), string(rawjson.Get(c, "hasMore"))
		if len(list) != test.count || total != test.total || more != test.hasMore || string(o.Get("y")) != "2" {
			t.Errorf("%s: %d values, total %s, hasMore %s", test.name, len(list), total, more)
		}
	}
	o, err := checkCompletion(json.RawMessage(`{"completion":{"values":["a\u001b[2Kb\u200b","c"]}}`))
	if got := string(o.Get("completion")); err != nil || got != `{"values":["ab","c"]}` {
		t.Errorf("%s, %v", got, err)
	}
	twice := `{"completion":{"values":` + values(101) + `,"x":1,"x":2}}`
	if _, err := checkCompletion(json.RawMessage(twice)); err == nil {
		t.Error("a completion that cannot be cut was let through")
	}
}

// What is made of structured content, for clients of each era.
func TestFinishTool(t *testing.T) {
	for _, test := range []struct {
		name, result, modern, legacy string
	}{
		{"object without content", `{"structuredContent":{"a":1}}`,
			`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`,
			`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{"object with content", `{"content":[],"structuredContent":{"a":1}}`,
			`{"content":[],"structuredContent":{"a":1}}`,
			`{"content":[],"structuredContent":{"a":1}}`},
		{"number", `{"content":[],"structuredContent":1.50}`,
			`{"content":[{"type":"text","text":"1.50"}],"structuredContent":1.50}`,
			`{"content":[{"type":"text","text":"1.50"}]}`},
		{"array said already", `{"content":[{"type":"text","text":"[]"}],"structuredContent":[]}`,
			`{"content":[{"type":"text","text":"[]"}],"structuredContent":[]}`,
			`{"content":[{"type":"text","text":"[]"}]}`},
		{"none", `{"content":[]}`, `{"content":[]}`, `{"content":[]}`},
	} {
		for _, modern := range []bool{true, false} {
			o, err := rawjson.ParseObject([]byte(test.result))
			if err != nil {
				t.Fatal(err)
			}
			r := &request{modern: modern}
			r.finishTool(&o)
			want := test.legacy
			if modern {
				want = test.modern
			}
			if got := string(o.Append(nil)); got != want {
				t.Errorf("%s, modern %v: %s", test.name, modern, got)
			}
		}
	}
}

// Shapes name the place of what is wrong.
func TestEachObject(t *testing.T) {
	for content, want := range map[string]string{
		`[]`:                             "",
		`{}`:                             "content must be an array",
		`null`:                           "content must be an array",
		`[1]`:                            "content[0] must be an object",
		`[{"type":"text","text":""},[]]`: "content[1] must be an object",
		`[{"type":"text"}]`:              "content[0].text must be a string",
	} {
		o := rawjson.Object{{Key: "content", Value: json.RawMessage(content)}}
		got := fmt.Sprint(eachObject(o, "content", checkContent))
		if want == "" {
			want = "<nil>"
		}
		if got != want {
			t.Errorf("%s: %s", content, got)
		}
	}
}
