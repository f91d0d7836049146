package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
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

func TestOf_describesGoTypes(t *testing.T) {
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
			got := string(Of(c.typ, Input))
			if !json.Valid([]byte(got)) {
				t.Fatalf("got %s, want JSON", got)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A map of structs is its own root, also if the structs are recursive.
func TestOf_mapsOfStructsAreTheirOwnRoot(t *testing.T) {
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[map[string]inner](): `{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}`,
		reflect.TypeFor[map[string]node](): `{"type":"object","additionalProperties":{"$ref":"#/$defs/node"},"$defs":{"node":{"type":"object","properties":` +
			`{"name":{"type":"string"},"children":{"anyOf":[{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},{"type":"null"}]}},"required":["name"]}}}`,
	} {
		if got := string(Of(typ, Output)); got != want {
			t.Errorf("%v: got %s\nwant %s", typ, got, want)
		}
	}
}

func TestOf_leavesObjectsOpenInForms(t *testing.T) {
	if got := string(Of(reflect.TypeFor[inner](), Form)); got != `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}` {
		t.Errorf("got %s, want an object with x that is open", got)
	}
}

func TestField_readsDefaults(t *testing.T) {
	want := map[string]string{"a": `"x y"`, "b": "3", "c": "true", "d": `["p"]`, "f": `"2026-01-02T03:04:05Z"`, "g": "5", "h": `"7"`}
	for _, f := range Fields(reflect.TypeFor[struct {
		A string        `json:"a" default:"x y"`
		B int           `json:"b" default:"3"`
		C *bool         `json:"c" default:"true"`
		D []string      `json:"d" default:"[\"p\"]"`
		E string        `json:"e"`
		F time.Time     `json:"f" default:"2026-01-02T03:04:05Z"`
		G time.Duration `json:"g" default:"5"`
		H int           `json:"h,string" default:"7"`
	}]()) {
		if got := string(f.Default()); got != want[f.Name] {
			t.Errorf("%s: %s, want %s", f.Name, got, want[f.Name])
		}
	}
}

type Outer struct {
	Inner
	*Pointed
	hidden
	ID   int    `json:"id"`
	Twin string // hides the Twin of both embedded structs
}
type Inner struct {
	ID    string `json:"id"`
	Only  int
	Twin  int
	Both  int
	Named int `json:"which"`
}
type Pointed struct {
	Both  string
	Which string `json:"which,omitempty"`
	Far   bool
}
type hidden struct{ Shown bool }

// Fields returns the fields that encoding/json encodes, for all embedded and shadowed ones.
func TestFields_agreeWithEncodingJSON(t *testing.T) {
	raw, err := json.Marshal(Outer{Pointed: &Pointed{Which: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, f := range Fields(reflect.TypeFor[Outer]()) {
		if _, twice := got[f.Name]; twice {
			t.Errorf("%s: got it twice, want it once", f.Name)
		}
		got[f.Name] = nil
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: got no such field, want one", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type list[T any] struct {
	Value T        `json:"value"`
	Next  *list[T] `json:"next,omitempty"`
}

// Two types with one name have two definitions, with names that are valid in references.
func TestOf_namesDefinitionsApart(t *testing.T) {
	type local struct {
		A list[int]    `json:"a"`
		B list[string] `json:"b"`
	}
	got := string(Of(reflect.TypeFor[local](), Input))
	for _, want := range []string{`"a":{"$ref":"#/$defs/list_int_"}`, `"b":{"$ref":"#/$defs/list_string_"}`, `"list_int_":{`, `"list_string_":{`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	twins := string(Of(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: firstTwin(), Tag: `json:"a"`}, {Name: "B", Type: secondTwin(), Tag: `json:"b"`},
	}), Input))
	for _, want := range []string{`"a":{"$ref":"#/$defs/twin"}`, `"b":{"$ref":"#/$defs/twin2"}`, `"twin":{"type":"object","properties":{"x":`, `"twin2":{"type":"object","properties":{"y":`} {
		if !strings.Contains(twins, want) {
			t.Errorf("no %s in %s", want, twins)
		}
	}
}

func firstTwin() reflect.Type {
	type twin struct {
		X *twin `json:"x"`
	}
	return reflect.TypeFor[twin]()
}

func secondTwin() reflect.Type {
	type twin struct {
		Y *twin `json:"y"`
	}
	return reflect.TypeFor[twin]()
}

func TestField_describesAsTheOfficialSDK(t *testing.T) {
	got := string(Of(reflect.TypeFor[struct {
		A string `json:"a" jsonschema:"a <text>, x=1 included"`
		B string `json:"b" jsonschema:"not this" doc:"this"`
	}](), Form))
	want := `{"type":"object","properties":{"a":{"type":"string","description":"a <text>, x=1 included"},"b":{"type":"string","description":"this"}},"required":["a","b"]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestField_refusesKeywordsInADescription(t *testing.T) {
	defer func() {
		const want = "sallyport: field A: tag jsonschema: begins with required=, but it is a description"
		if got, _ := recover().(string); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}()
	Of(reflect.TypeFor[struct {
		A string `jsonschema:"required=true"`
	}](), Form)
}
