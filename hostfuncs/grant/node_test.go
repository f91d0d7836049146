package grant_test

import (
	"errors"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func scalar(line int, key, value string) grant.Node {
	return grant.Node{Line: line, Key: key, Value: value}
}

func mapping(line int, key string, nodes ...grant.Node) grant.Node {
	return grant.Node{Line: line, Key: key, Kind: grant.Map, Nodes: nodes}
}

func TestParse_readsAllForms(t *testing.T) {
	s, err := grant.Parse([]grant.Node{
		mapping(3, "", scalar(3, "net", "GET https://a.example/**"), scalar(4, "body", "1MiB")),
		mapping(5, "", mapping(5, "config", scalar(5, "lang", "en"), scalar(6, "n", "8"))),
		mapping(7, "", mapping(7, "deny", scalar(8, "fs", "read ~/x"))),
		scalar(9, "", "fs: read /tmp/**"),
		mapping(10, "", scalar(10, "deny", "net: GET https://a.example/secret")),
		mapping(11, "", scalar(11, "fs", "write ~/out/**"), scalar(12, "ask", "true")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "net: GET https://a.example/** {body: 1MiB}\nconfig: {lang: en, n: 8}\ndeny: fs: read ~/x\n" +
		"fs: read /tmp/**\ndeny: net: GET https://a.example/secret\nfs: write ~/out/** {ask: true}\n"
	if s.String() != want {
		t.Errorf("got\n%swant\n%s", s, want)
	}
	for i, line := range []int{3, 5, 8, 9, 10, 11} {
		if got := s.Lines()[i].Line; got != line {
			t.Errorf("grant %d is on line %d, want %d", i, got, line)
		}
	}
	if c := s.Lines().Config(); c["lang"] != "en" || c["n"] != "8" || len(c) != 2 {
		t.Errorf("config is %v", c)
	}
}

func TestParse_explainsErrors(t *testing.T) {
	tests := []struct {
		node grant.Node
		want string
	}{
		{mapping(2, "", scalar(2, "nett", "x")), `line 2: unknown grant "nett": write one of ` + grant.Words()},
		{mapping(2, ""), `line 2: empty grant: write one of ` + grant.Words()},
		{grant.Node{Line: 4, Kind: grant.List}, `line 4: a grant is one line, not a list: write one element for each`},
		{mapping(2, "", scalar(2, "net", "GET https://a/"), scalar(3, "fs", "read /")), `line 3: one grant cannot be both "net" and "fs": write two elements`},
		{mapping(2, "", scalar(2, "net", "GET https://a/"), scalar(3, "bodi", "1")), `line 3: unknown option "bodi" of net: write one of ask, body, for, idempotent, private, redirects, who, within`},
		{mapping(2, "", scalar(2, "net", "GET https://a/"), mapping(3, "body")), `line 3: body is a size, such as 64KiB`},
		{mapping(2, "", scalar(2, "net", "GET https://a/"), scalar(3, "net", "GET https://a/")), `line 3: "net" is there twice`},
		{mapping(2, "", grant.Node{Line: 2, Key: "net", Kind: grant.List}), `line 2: "net" takes one line of text, such as "net: GET https://api.example.com/v1/**"`},
		{mapping(2, "", scalar(2, "fs", "read /a"), grant.Node{Line: 3, Key: "within", Kind: grant.List}), `line 3: within is a list of texts, such as [a, b]`},
		{mapping(2, "", mapping(2, "config", mapping(3, "key", scalar(3, "secret", "NAME")))), `line 2: config "key" is the secret "NAME", which no line grants: add secret: NAME with to: an address`},
		{mapping(2, "", mapping(2, "config", mapping(3, "key", scalar(3, "secret", "NA ME")))), `line 3: secret takes a name of letters, digits and _ . -, such as "secret: API_TOKEN {to: https://api.example.com/**, as: \"Authorization: Bearer {secret}\"}"`},
		{mapping(2, "", mapping(2, "config", scalar(3, "PWD", "/"))), `line 3: config name "PWD" is set by the host: choose another`},
		{mapping(2, "", scalar(2, "deny", "net: GET https://a/"), scalar(3, "ask", "true")), `line 3: a deny line takes no option "ask": remove it`},
		{scalar(9, "", "fs: read x"), `line 9: path "x" begins neither with / nor with ~/: write the whole path`},
	}
	for _, tt := range tests {
		_, err := grant.Parse([]grant.Node{tt.node})
		var pe *grant.ParseError
		if !errors.As(err, &pe) || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

func TestParse_limitsLines(t *testing.T) {
	nodes := make([]grant.Node, 1001)
	for i := range nodes {
		nodes[i] = scalar(i+1, "", "fs: read /a")
	}
	if _, err := grant.Parse(nodes); err == nil || err.Error() != "line 1001: more than 1000 grants for one plugin" {
		t.Errorf("got %v", err)
	}
}

func TestParseSize_needsUnit(t *testing.T) {
	for text, want := range map[string]int64{"1B": 1, "512B": 512, "64KiB": 65536, "2MiB": 2 << 20, "1GiB": 1 << 30} {
		if n, err := grant.ParseSize(text); err != nil || n != want {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	if _, err := grant.ParseSize("64"); err == nil || err.Error() != `"64" has no unit: write such as 64MiB, 64KiB or 64B` {
		t.Errorf("without a unit: %v", err)
	}
	for _, text := range []string{"", "0", "1", "64", "-1", "+1", "KiB", "1KB", "1.5MiB", "9223372036854775807GiB"} {
		if n, err := grant.ParseSize(text); err == nil {
			t.Errorf("%q: accepted as %d", text, n)
		}
	}
}
