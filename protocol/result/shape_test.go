package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestCheckContent_requiresTheMembersOfEachBlock(t *testing.T) {
	for block, want := range map[string]string{
		`{"type":"text","text":""}`:                                         "",
		`{"type":"text","text":null}`:                                       ".text must be a string",
		`{"type":"image","data":"","mimeType":"image/png"}`:                 "",
		`{"type":"image","mimeType":"image/png"}`:                           ".data must be a string",
		`{"type":"audio","data":"","mimeType":"audio/wav"}`:                 "",
		`{"type":"audio","data":""}`:                                        ".mimeType must be a string",
		`{"type":"resource_link","uri":"a:b","name":"n"}`:                   "",
		`{"type":"resource_link","uri":"a:b"}`:                              ".name must be a string",
		`{"type":"resource","resource":{"uri":"a:b","text":"t"}}`:           "",
		`{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}`:        "",
		`{"type":"resource","resource":{"text":"t"}}`:                       ".resource.uri must be a string",
		`{"type":"resource","resource":{"uri":"a:b","text":1}}`:             ".resource needs text or blob, a string",
		`{"type":"resource","resource":"a:b"}`:                              ".resource must be an object",
		`{"type":"resource"}`:                                               ".resource must be an object",
		`{"type":"tool_use","anything":1}`:                                  `.type "tool_use" is none of text, image, audio, resource_link and resource`,
		`{"type":"holo\u202egram"}`:                                         `.type "holo\u202egram" is none of text, image, audio, resource_link and resource`,
		`{"type":"image","data":"A/+9","mimeType":"a/b"}`:                   "",
		`{"type":"image","data":"A\/+9","mimeType":"a/b"}`:                  "",
		`{"type":"image","data":"AA=","mimeType":"a/b"}`:                    ".data is not base64",
		`{"type":"image","data":"A A=","mimeType":"a/b"}`:                   ".data is not base64",
		`{"type":"image","data":"A-_9","mimeType":"a/b"}`:                   ".data is not base64",
		`{"type":"audio","data":"A===","mimeType":"a/b"}`:                   ".data is not base64",
		`{"type":"audio","data":"https://x","mimeType":"a/b"}`:              ".data is not base64",
		`{"type":"resource","resource":{"uri":"a:b","blob":"%"}}`:           ".resource.blob is not base64",
		`{"type":"text","text":"a","_Meta":{}}`:                             " has a member _Meta, which is one of MCP's in another case",
		`{"type":"resource_link","uri":"a:b","name":"n","icon\u017f":[]}`:   " has a member icon\u017f, which is one of MCP's in another case",
		`{"type":"resource","resource":{"uri":"a:b","text":"t","Blob":""}}`: ".resource has a member Blob, which is one of MCP's in another case",
		`{"type":1}`: ".type must be a string",
		`{}`:         ".type must be a string",
	} {
		got := ""
		if err := checkContent(json.RawMessage(block)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", block, got, want)
		}
	}
}

func TestCheckMessage_requiresRoleAndContent(t *testing.T) {
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
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// Shape errors contain the position of the problem.
func TestEachObject_namesThePosition(t *testing.T) {
	for content, want := range map[string]string{
		`[]`:                             "",
		`{}`:                             "content must be an array",
		`null`:                           "content must be an array",
		`[1]`:                            "content[0] must be an object",
		`[{"type":"text","text":""},[]]`: "content[1] must be an object",
		`[{"type":"text"}]`:              "content[0].text must be a string",
	} {
		o := jsonraw.Object{{Key: "content", Value: json.RawMessage(content)}}
		got := fmt.Sprint(eachObject(o, "content", checkContent))
		if want == "" {
			want = "<nil>"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", content, got, want)
		}
	}
}

func TestParse_refusesTooManyBytes(t *testing.T) {
	_, err := parse(make([]byte, MaxResult+1))
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != runtime.KindLimit {
		t.Errorf("got %v, want a limit", err)
	}
	blocks := `{"content":[` + strings.Repeat(`{"type":"x"},`, maxBlocks) + `{"type":"x"}]}`
	o, err := parse([]byte(blocks))
	if err != nil {
		t.Fatal(err)
	}
	if err := eachObject(o, "content", checkContent); err == nil {
		t.Error("too many blocks were let through")
	}
}
