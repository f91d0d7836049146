package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheckPromptArguments_requiresDeclaredStrings(t *testing.T) {
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
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if err := checkPromptArguments(json.RawMessage(`{"name":"p"}`), nil); err != nil {
		t.Error(err)
	}
}
