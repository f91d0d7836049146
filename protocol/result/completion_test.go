package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Up to a hundred values pass unchanged; more are cut to a hundred and marked.
func TestCompletion_cutsAtAHundredValues(t *testing.T) {
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
		o, err := Completion(json.RawMessage(`{"completion":` + test.completion + `,"y":2}`))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		c := o.Get("completion")
		list, _ := jsonraw.Elements(jsonraw.Get(c, "values"))
		total, more := string(jsonraw.Get(c, "total")), string(jsonraw.Get(c, "hasMore"))
		if len(list) != test.count || total != test.total || more != test.hasMore || string(o.Get("y")) != "2" {
			t.Errorf("%s: got %d values, total %s, hasMore %s, want %d, %s, %s", test.name, len(list), total, more, test.count, test.total, test.hasMore)
		}
	}
	o, err := Completion(json.RawMessage(`{"completion":{"values":["a\u001b[2Kb\u200b","c"]}}`))
	if got := string(o.Get("completion")); err != nil || got != `{"values":["ab","c"]}` {
		t.Errorf("got %s, %v", got, err)
	}
	twice := `{"completion":{"values":` + values(101) + `,"x":1,"x":2}}`
	if _, err := Completion(json.RawMessage(twice)); err == nil {
		t.Error("a completion that cannot be cut was let through")
	}
}
