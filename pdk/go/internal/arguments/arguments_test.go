package arguments

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

type upper string

func (u *upper) UnmarshalText(p []byte) error {
	if string(p) == "bad" {
		return fmt.Errorf("bad is not good")
	}
	*u = upper(strings.ToUpper(string(p)))
	return nil
}

type all struct {
	Base
	*More
	A     string          `json:"a"`
	B     int8            `json:"b,omitempty"`
	C     bool            `json:"c"`
	D     []string        `json:"d"`
	E     *all            `json:"e"`
	F     float32         `json:"f"`
	G     json.RawMessage `json:"g"`
	H     json.Number     `json:"h"`
	I     upper           `json:"i"`
	J     any             `json:"j"`
	K     map[string]int  `json:"k"`
	L     uint16          `json:"l"`
	M     []byte          `json:"m"`
	N     [2]float64      `json:"n"`
	O     map[upper]bool  `json:"o"`
	P     []all           `json:"p"`
	Q     **int           `json:"q"`
	R     int             `json:"r,string"`
	T     time.Time       `json:"t"`
	U     map[int]string  `json:"u"`
	Named string
	Skip  string `json:"-"`
}

type Base struct {
	A, Z int
}

type More struct {
	X *int `json:"x"`
}

// FuzzDecode compares with encoding/json, except for names in a different case, integers with a fraction or an
// exponent, and duplicate names, of which the last one applies.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"a":"x","b":1,"c":true,"d":["y",null],"e":{"a":"z","e":null},"f":1.5,"g":[1, 2],"h":12,"i":"up","j":{"k":1},"k":{"q":1},"Named":"n"}`,
		`{"l":65535,"m":"aGk=","n":[1,2,3],"o":{"x":true},"p":[{"a":"1"},{"p":[]}],"q":7,"r":"12","t":"2026-01-02T03:04:05Z","u":{"1":"x"},"x":4,"Z":9,"A":3}`,
		`{"Skip":"s","lower":"l","-":"d","unknown":[1]}`, `{"a":null,"b":null,"c":null,"d":null,"g":null,"h":null,"i":null,"k":null,"m":null,"n":null,"q":null,"r":null,"x":null}`,
		`{"a":1}`, `{"b":300}`, `{"b":1.5}`, `{"b":"1"}`, `{"c":"true"}`, `{"h":"12"}`, `{"h":"x"}`, `{"a":"\u0041\n","i":"é"}`, "{\"a\":\"\xff\"}", `{}`, `[]`, `null`, `1`,
		`{"l":-1}`, `{"m":"*"}`, `{"n":[1]}`, `{"n":["x"]}`, `{"r":"x"}`, `{"r":12}`, `{"r":"1 "}`, `{"i":"bad"}`, `{"t":"x"}`, `{"f":1e39}`, `{"k":[]}`, `{"d":{}}`, `{"e":[]}`,
	} {
		f.Add([]byte(s))
	}
	d := Of(reflect.TypeFor[all]())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || differs(raw) {
			return // the host sends JSON without duplicates
		}
		var got, want all
		e1, e2 := d.Decode(raw, &got), json.Unmarshal(raw, &want)
		if (e1 == nil) != (e2 == nil) || e1 == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v\nwant %+v, %v", raw, got, e1, want, e2)
		}
	})
}

// differs reports whether encoding/json is no oracle for this text.
func differs(raw []byte) bool {
	exact := map[string]bool{}
	for _, f := range schema.Fields(reflect.TypeFor[all]()) {
		exact[f.Name] = true
	}
	is := false
	var look func(raw []byte)
	look = func(raw []byte) {
		raw = []byte(strings.TrimSpace(string(raw)))
		seen := map[string]bool{}
		switch {
		case raw[0] == '{':
			_ = jsontext.Members(raw, func(key string, value []byte) error {
				is = is || seen[key]
				for name := range exact {
					is = is || !exact[key] && strings.EqualFold(name, key)
				}
				is = is || key == "m" && value[0] == '[' // encoding/json decodes it as bytes
				inside, _ := jsontext.Unquote(value)
				is = is || key == "r" && !json.Valid([]byte(inside)) // 007 and 0x07
				seen[key] = true
				look(value)
				return nil
			})
		case raw[0] == '[':
			_ = jsontext.Elements(raw, func(value []byte) error { look(value); return nil })
		case raw[0] != '"':
			is = is || strings.ContainsAny(string(raw), ".eE") && raw[0] != 't' && raw[0] != 'f'
		}
	}
	look(raw)
	return is
}

type choice struct {
	Unit string `json:"unit" default:"metre"`
	Size int    `json:"size,string" default:"3"`
}

type order struct {
	choice
	Inner  choice            `json:"inner"`
	Whole  choice            `json:"whole" default:"{\"unit\":\"foot\"}"`
	Points *choice           `json:"points"`
	List   []choice          `json:"list"`
	Map    map[string]choice `json:"map"`
	Tags   []string          `json:"tags" default:"[\"a\",\"b\"]"`
	Own    *order            `json:"own"`
}

// Defaults apply at every depth.
func TestDecode_appliesDefaultsAtEveryDepth(t *testing.T) {
	full := choice{"metre", 3}
	foot, ab := choice{"foot", 3}, []string{"a", "b"}
	for sent, want := range map[string]order{
		``:     {choice: full, Inner: full, Whole: foot, Tags: ab},
		`{}`:   {choice: full, Inner: full, Whole: foot, Tags: ab},
		`null`: {choice: full, Inner: full, Whole: foot, Tags: ab},
		`{"unit":"mile","inner":{"size":"9"},"whole":{"size":"1"},"tags":["c"]}`: {choice: choice{"mile", 3}, Inner: choice{"metre", 9}, Whole: choice{"metre", 1}, Tags: []string{"c"}},
		`{"points":{},"list":[{},{"unit":"x"}],"map":{"k":{"size":"4"}}}`: {choice: full, Inner: full, Whole: foot, Tags: ab,
			Points: &full, List: []choice{full, {"x", 3}}, Map: map[string]choice{"k": {"metre", 4}}},
		`{"own":{"inner":null,"points":null}}`:   {choice: full, Inner: full, Whole: foot, Tags: ab, Own: &order{choice: full, Inner: full, Whole: foot, Tags: ab}},
		`{"Unit":"folded","INNER":{"unit":"x"}}`: {choice: full, Inner: full, Whole: foot, Tags: ab},
	} {
		var got order
		if err := Of(reflect.TypeFor[order]()).Decode([]byte(sent), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", sent, got, err, want)
		}
	}
}

func TestDecode_namesTheFaultyArgument(t *testing.T) {
	type leaf struct {
		N int8 `json:"n"`
	}
	type root struct {
		List []leaf          `json:"list"`
		Map  map[string]leaf `json:"map"`
		Grid [][]leaf        `json:"grid"`
		Up   upper           `json:"up"`
		Any  *time.Time      `json:"any"`
	}
	for sent, want := range map[string]string{
		`[]`:                          "arguments cannot be a JSON array",
		`"x"`:                         "arguments cannot be a JSON string",
		`{"list":{}}`:                 "argument list cannot be a JSON object",
		`{"list":[{"n":1},{"n":""}]}`: "argument list[1].n cannot be a JSON string",
		`{"list":[{"n":128}]}`:        "argument list[0].n cannot be a JSON number",
		`{"map":{"k":{"n":1.5}}}`:     "argument map.k.n cannot be a JSON number",
		`{"grid":[[],[{"n":true}]]}`:  "argument grid[1][0].n cannot be a JSON boolean",
		`{"up":"bad"}`:                "argument up: bad is not good",
		`{"up":null,"list":[null]}`:   "",
	} {
		var got root
		err := Of(reflect.TypeFor[root]()).Decode([]byte(sent), &got)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", sent, err, want)
		}
	}
}

// The host sends only valid JSON; other bytes are an error and no panic.
func TestDecode_refusesBytesThatAreNoJSON(t *testing.T) {
	type root struct {
		List []int          `json:"list"`
		Map  map[string]int `json:"map"`
		In   struct{ N *int }
	}
	for _, sent := range []string{`{`, `{"list"`, `{"list":`, `{"list":[`, `{"list":[1`, `{"list":[1,`, `{"list":[1,]}`, `{"map":`, `{"map":{`, `{"map":{"a":`, `{"In":`, `{"In":{"N":`,
		`{"x":`, `{"list":nul}`, `{"list":nullx}`, `{} {}`, `nulls`, `{"\`} {
		var got root
		if err := Of(reflect.TypeFor[root]()).Decode([]byte(sent), &got); err == nil {
			t.Errorf("%s: got %+v, want an error", sent, got)
		}
	}
}

// FuzzInteger compares integer with exact arithmetic: a number is an integer if its value is integral, in any
// spelling.
func FuzzInteger(f *testing.F) {
	for _, s := range []string{"0", "-0", "2.0", "1e0", "1E+2", "1200e-2", "1.5", "9223372036854775807.0", "9223372036854775808.0", "-9223372036854775808e0",
		"9007199254740993.0", "1e18", "1e19", "1e-1", "0e999999999999", "0.0e-7", "123456789.123e3", "1e99999", "12e-99999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 40 || !json.Valid([]byte(s)) || strings.Trim(s, "-+.eE0123456789") != "" {
			return
		}
		if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 6 {
			return // big.Rat would take too long
		}
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			return
		}
		want := r.IsInt() && r.Num().IsInt64()
		var n int64
		err := setInt(reflect.ValueOf(&n).Elem(), []byte(s))
		if (err == nil) != want || want && n != r.Num().Int64() {
			t.Errorf("%s: %d, %v; want %v", s, n, err, r)
		}
		var u uint64
		err = setUint(reflect.ValueOf(&u).Elem(), []byte(s))
		if want := r.IsInt() && r.Num().IsUint64() && s[0] != '-'; want && (err != nil || u != r.Num().Uint64()) || err == nil && !r.IsInt() {
			t.Errorf("%s: %d, %v; want %v", s, u, err, r)
		}
	})
}
