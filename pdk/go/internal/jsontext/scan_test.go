package jsontext

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzMembers: the members of an object are those that encoding/json finds, and nothing makes it fail badly.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 , "b\"\\":[{"x":"]"},"}"],"c":{"d":null}} `, `{"a":"\u00e9é\ud800"}`, `{"a":1,"a":2}`,
		`{`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":1,}`, `{"a":1}x`, `[1]`, `"x"`, ``, `{"a":-1.5e3,"b":true }`, "{\"\xff\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]string{}
		err := Members(raw, func(key string, value []byte) error { got[key] = string(value); return nil })
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return // only what the host sends is of interest, which is JSON
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %q, %v", raw, got, err)
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Errorf("%q: %q is %q, want %q", raw, key, got[key], value)
			}
		}
	})
}

type upper string

func (u *upper) UnmarshalText(p []byte) error {
	*u = upper(strings.ToUpper(string(p)))
	return nil
}

type plain struct {
	A     string          `json:"a"`
	B     int8            `json:"b,omitempty"`
	C     bool            `json:"c"`
	D     []string        `json:"d"`
	E     *plain          `json:"e"`
	F     float64         `json:"f"`
	G     json.RawMessage `json:"g"`
	H     json.Number     `json:"h"`
	I     upper           `json:"i"`
	J     any             `json:"j"`
	K     map[string]int  `json:"k"`
	Named string
	Skip  string `json:"-"`
	lower string
}

// FuzzPlan: a plan decodes as encoding/json does, into what is there already too.
func FuzzPlan(f *testing.F) {
	for _, s := range []string{
		`{"a":"x","b":1,"c":true,"d":["y"],"e":{"a":"z"},"f":1.5,"g":[1, 2],"h":12,"i":"up","j":{"k":1},"k":{"q":1},"Named":"n"}`,
		`{"A":"folded","named":"n","Skip":"s","lower":"l","-":"d","unknown":[1]}`, `{"a":null,"b":null,"c":null,"d":null,"g":null,"h":null,"i":null}`,
		`{"a":1}`, `{"b":300}`, `{"b":1.5}`, `{"b":"1"}`, `{"c":"true"}`, `{"h":"12"}`, `{"h":"x"}`, `{"a":"\u0041\n","i":"é"}`, `{"a":"1","a":"2"}`, "{\"a\":\"\xff\"}", `{}`, `[]`, `{"a":"x"`,
	} {
		f.Add([]byte(s))
	}
	p := PlanOf(reflect.TypeFor[plain]())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the host sends JSON
		}
		got, want := plain{A: "before", B: 7, D: []string{"1", "2"}, lower: "kept"}, plain{A: "before", B: 7, D: []string{"1", "2"}, lower: "kept"}
		e1, e2 := p.Decode(raw, &got), json.Unmarshal(raw, &want)
		if fmt.Sprint(e1) != fmt.Sprint(e2) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v\nwant %+v, %v", raw, got, e1, want, e2)
		}
	})
}

func TestPlanOf_leavesToOthers(t *testing.T) {
	type embedded struct{ plain }
	type quoted struct {
		N int `json:"n,string"`
	}
	text := reflect.TypeFor[string]()
	twice := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: text, Tag: `json:"x"`}, {Name: "B", Type: text, Tag: `json:"x"`},
	})).Elem().Interface()
	for _, v := range []any{embedded{}, quoted{}, twice, upper(""), map[string]int{}, 1, ""} {
		if PlanOf(reflect.TypeOf(v)) != nil {
			t.Errorf("%T has a plan", v)
		}
	}
	var n *Plan
	var s string
	if err := n.Decode([]byte(`"x"`), &s); err != nil || s != "x" {
		t.Errorf("no plan: %q, %v", s, err)
	}
}

// FuzzQuote: what is quoted decodes to the same, and is what encoding/json writes.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\x00\x1f\x7f", "<é\u2028\U0001F600>", "\xff\xc0", strings.Repeat("x", 100) + "\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if got := Quote(s); err != nil || string(got) != string(want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}
