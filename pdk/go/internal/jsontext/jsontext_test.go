package jsontext

import (
	"encoding/json"
	"testing"
)

func TestObject_encodesMembersInOrder(t *testing.T) {
	var o, other Object
	if !o.Empty() || string(o.Bytes()) != "{}" {
		t.Errorf("zero value: got %s, want {}", o.Bytes())
	}
	o.Merge(&other)
	o.Text("a<", "\"\n&>")
	o.Optional("none", "")
	o.Optional("b", "x")
	o.Raw("c", []byte("[1]"))
	if err := o.Value("d", map[string]string{"k": "<"}); err != nil {
		t.Error(err)
	}
	if err := o.Value("e", make(chan int)); err == nil {
		t.Error("Value of a channel: got no error, want one")
	}
	other.Members(nil)
	other.Members([]byte(`"y":1`))
	other.Members([]byte(`"z":2`))
	o.Merge(&other)
	want := `{"a<":"\"\n&>","b":"x","c":[1],"d":{"k":"<"},"y":1,"z":2}`
	if got := string(o.Bytes()); got != want || o.Empty() || !json.Valid(o.Bytes()) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestArray_encodesElements(t *testing.T) {
	for want, values := range map[string][][]byte{"[]": nil, "[1]": {[]byte("1")}, `["a",2]`: {Quote("a"), []byte("2")}} {
		if got := string(Array(values)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := string(Quote("\xff")); got != `"\ufffd"` {
		t.Errorf("invalid UTF-8: got %s, want \"\\ufffd\"", got)
	}
}
