package jsonraw

import (
	"encoding/json"
	"testing"
)

func TestArray_joinsElements(t *testing.T) {
	for want, items := range map[string][]json.RawMessage{
		`[]`:          nil,
		`[1]`:         {json.RawMessage("1")},
		`[1.50,"a",]`: {json.RawMessage("1.50"), json.RawMessage(`"a"`), nil},
	} {
		if got := string(Array(items)); got != want {
			t.Errorf("%s, and not %s", got, want)
		}
	}
	if got := string(Strings([]string{`a"`, "b"})); got != `["a\"","b"]` || string(Strings(nil)) != "[]" {
		t.Errorf("got %q, want %q", got, `["a\"","b"]`)
	}
}

func TestOneLine_replacesLineEnds(t *testing.T) {
	got := OneLine([]byte("{\n\"a\":\r\n[\n1]\n}"))
	if want := "{ \"a\":  [ 1] }"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKinds_tellValuesApart(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "object", `[]`: "array", `""`: "string", `0`: "integer", `-12`: "integer",
		`-`: "", `1.0`: "", `1e3`: "", `true`: "", `null`: "", ``: "",
	} {
		got := ""
		for kind, is := range map[string]func([]byte) bool{"object": IsObject, "array": IsArray, "string": IsString, "integer": IsInteger} {
			if is([]byte(text)) {
				got += kind
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
