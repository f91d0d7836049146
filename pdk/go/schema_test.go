package sallyport

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

func TestSchemaOf(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"nothing", reflect.TypeFor[None](), `{"type":"object","properties":{},"additionalProperties":false}`},
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
			got := string(schemaOf(c.typ, true))
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %s", got)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSchemaOf_openObjects(t *testing.T) {
	if got := string(schemaOf(reflect.TypeFor[inner](), false)); got != `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}` {
		t.Error(got)
	}
}

func TestDefaultsOf(t *testing.T) {
	got := string(defaultsOf(reflect.TypeFor[struct {
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

// A mistake in a plugin's own text stops it at start, with a message that names the place.
func TestNew_mistakes(t *testing.T) {
	tool := func(name string, o ...Option) Item {
		return Tool(name, "", func(*Call, None) (string, error) { return "", nil }, o...)
	}
	for _, c := range []struct {
		want string
		make func()
	}{
		{"sallyport: tool a is there twice", func() { New("", "", tool("a"), tool("a")) }},
		{"sallyport: MIMEType does not belong on tool a", func() { tool("a", MIMEType("text/plain")) }},
		{"sallyport: the schema of tool a is not JSON", func() { tool("a", InputSchema("{")) }},
		{"sallyport: field X: tag minimum: low is not a number", func() {
			schemaOf(reflect.TypeFor[struct {
				X int `minimum:"low"`
			}](), true)
		}},
		{"sallyport: field X: tag default: cannot hold y", func() {
			defaultsOf(reflect.TypeFor[struct {
				X int `default:"y"`
			}]())
		}},
		{"sallyport: field X: tag enum: only for strings, numbers and booleans; make a type of it that is a Schemer", func() {
			schemaOf(reflect.TypeFor[struct {
				X []string `enum:"a,b"`
			}](), true)
		}},
		{"sallyport: a chan int has no JSON", func() { schemaOf(reflect.TypeFor[struct{ X chan int }](), true) }},
		{"sallyport: prompt p: argument X is not a string", func() {
			Prompt("p", "", func(*Call, struct{ X int }) (string, error) { return "", nil })
		}},
		{"sallyport: template {x}: does not begin with a literal scheme", func() {
			Template("{x}", "", "", func(*Call, Vars) (string, error) { return "", nil })
		}},
		{"sallyport: want net: json: unsupported type: chan int", func() { Want("net", make(chan int), "") }},
	} {
		t.Run(c.want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("got %v", got)
				}
			}()
			c.make()
			t.Error("no panic")
		})
	}
}
