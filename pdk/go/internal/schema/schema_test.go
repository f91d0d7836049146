package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

type node struct {
	Name     string  `json:"name"`
	Children []*node `json:"children,omitempty"`
}

type colour string

func (colour) JSONSchema() string { return `{"type":"string","enum":["red","green"]}` }

type inner struct {
	X int `json:"x"`
}

type embedded struct {
	Shared string `json:"shared"`
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"nothing", reflect.TypeFor[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`},
		{"kinds", reflect.TypeFor[struct {
			S string
			B bool
			I int8
			U uint
			F float64
			A any
			R json.RawMessage
			Y []byte
		}](), `{"type":"object","properties":{"S":{"type":"string"},"B":{"type":"boolean"},"I":{"type":"integer"},` +
			`"U":{"type":"integer","minimum":0},"F":{"type":"number"},"A":{},"R":{},"Y":{"type":"string","contentEncoding":"base64"}},` +
			`"required":["S","B","I","U","F","A","R","Y"],"additionalProperties":false}`},
		{"optional", reflect.TypeFor[struct {
			A string  `json:"a,omitempty"`
			B *int    `json:"b"`
			C int     `json:"c,omitzero"`
			D string  `json:"d" default:"x"`
			E float64 `json:"e"`
			F string  `json:"-"`
			g int
		}](), `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"integer"},` +
			`"d":{"type":"string","default":"x"},"e":{"type":"number"}},"required":["e"],"additionalProperties":false}`},
		{"tags", reflect.TypeFor[struct {
			A string   `json:"a" doc:"what <it> is" title:"A" pattern:"^x" format:"uri" minLength:"1" maxLength:"9" enum:"p, q"`
			B uint16   `json:"b" minimum:"1" maximum:"10" multipleOf:"2" default:"4"`
			C []string `json:"c" minItems:"1" maxItems:"3" uniqueItems:"true"`
			D int      `json:"d" enum:"1,2" exclusiveMinimum:"0" exclusiveMaximum:"3" header:"X-D"`
		}](), `{"type":"object","properties":{` +
			`"a":{"type":"string","description":"what <it> is","title":"A","pattern":"^x","format":"uri","minLength":1,"maxLength":9,"enum":["p","q"]},` +
			`"b":{"type":"integer","minimum":1,"maximum":10,"multipleOf":2,"default":4},` +
			`"c":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3,"uniqueItems":true},` +
			`"d":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":3,"enum":[1,2],"x-mcp-header":"X-D"}},` +
			`"required":["a","c","d"],"additionalProperties":false}`},
		{"nested", reflect.TypeFor[struct {
			embedded
			In  inner            `json:"in"`
			Ps  []*inner         `json:"ps"`
			M   map[string]inner `json:"m"`
			Arr [2]bool          `json:"arr"`
		}](), `{"type":"object","properties":{"shared":{"type":"string"},` +
			`"in":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},` +
			`"ps":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}},` +
			`"m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}},` +
			`"arr":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}},` +
			`"required":["shared","in","ps","m","arr"],"additionalProperties":false}`},
		{"own", reflect.TypeFor[struct {
			T time.Time  `json:"t"`
			C colour     `json:"c" doc:"one"`
			P netip.Addr `json:"p"`
		}](), `{"type":"object","properties":{"t":{"type":"string","format":"date-time"},` +
			`"c":{"type":"string","enum":["red","green"],"description":"one"},"p":{"type":"string"}},` +
			`"required":["t","c","p"],"additionalProperties":false}`},
		{"recursive root", reflect.TypeFor[node](), `{"type":"object","properties":{"name":{"type":"string"},` +
			`"children":{"type":"array","items":{"$ref":"#"}}},"required":["name"],"additionalProperties":false}`},
		{"recursive inside", reflect.TypeFor[struct {
			A node `json:"a"`
			B node `json:"b"`
		}](), `{"type":"object","properties":{"a":{"$ref":"#/$defs/node"},"b":{"$ref":"#/$defs/node"}},"required":["a","b"],` +
			`"additionalProperties":false,"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},` +
			`"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"],"additionalProperties":false}}}`},
		{"map", reflect.TypeFor[map[string]int](), `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"raw", reflect.TypeFor[json.RawMessage](), `{"type":"object"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(Of(c.typ, true))
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %s", got)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestOf_openObjects(t *testing.T) {
	if got := string(Of(reflect.TypeFor[inner](), false)); got != `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}` {
		t.Error(got)
	}
}

func TestDefaults(t *testing.T) {
	got := string(Defaults(reflect.TypeFor[struct {
		A string        `json:"a" default:"x y"`
		B int           `json:"b" default:"3"`
		C *bool         `json:"c" default:"true"`
		D []string      `json:"d" default:"[\"p\"]"`
		E string        `json:"e"`
		F time.Time     `json:"f" default:"2026-01-02T03:04:05Z"`
		G time.Duration `json:"g" default:"5"`
	}]()))
	if want := `{"a":"x y","b":3,"c":true,"d":["p"],"f":"2026-01-02T03:04:05Z","g":5}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
