package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Wants become lines that the operator can be asked about; wants without a valid line are left out, and none is a
// grant.
func TestWants_leavesOutUngrantable(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"name":"p","tools":[{"name":"get","inputSchema":{"type":"object","properties":{"owner":{"type":"string"}}}}],"wants":[
		{"net":"GET https://a.example/**","why":"looks up"}, {"net":"POST https://a.example/{args.owner}/x","body":"64KiB"},
		{"net":"GET https://a.example/{args.nobody}"}, {"deny":"net: GET https://b.example/"}, {"fs":"read ~/work/**"}, {"kv":"1MiB"},
		{"sampling":{"calls":3,"tokens":100}}, {"elicitation":""}, {"tools":["time-now"]}, {"nonsense":1}, 7, "net: GET https://c.example/", {},
		{"net":"GET https://d.example/","net":"GET https://e.example/"}, {"net":{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":1}}}}}}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range Wants(m.Wants, m) {
		got = append(got, strings.TrimSpace(w.Grants.String()+"# "+w.Why))
	}
	want := []string{
		"net: GET https://a.example/**\n# looks up", "net: POST https://a.example/{args.owner}/x {body: 64KiB}\n#", "fs: read ~/work/**\n#", "kv: 1MiB\n#",
		"sampling: {calls: 3, tokens: 100}\n#", "elicitation\n#", "tools: [time-now]\n#",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWants_limitsTheirNumber(t *testing.T) {
	m := &manifest.Manifest{}
	for i := range 1000 {
		m.Wants = append(m.Wants, fmt.Appendf(nil, `{"net":"GET https://a.example/%d"}`, i))
	}
	if n := len(Wants(m.Wants, m)); n != maxWants {
		t.Errorf("%d wants", n)
	}
}

// A want that cannot be granted is reported with the error of its grant line.
func TestProblems_giveReasons(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"wants":[{"net":"GET https://a.example/**","why":"ok"},{"nett":"GET https://a.example/**"},{"net":"example.com"},7,{"deny":"net: GET https://b.example/"},{"kv":"1MiB","who":["all"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := Problems(m.Wants, m)
	want := []string{
		`the want {"nett":"GET https://a.example/**"} cannot be granted: unknown grant "nett": write one of caller, config, elicitation, fs, kv, net,`,
		`the want {"net":"example.com"} cannot be granted: net needs a method and an address: write such as "net: GET https://api.example.com/v1/**"`,
		`the want 7 cannot be granted: it is not an object such as {"net": "GET https://api.example.com/**"}`,
		`the want {"deny":"net: GET https://b.example/"} cannot be granted: a plugin asks for grants, and denies nothing`,
		`the want {"kv":"1MiB","who":["all"]} cannot be granted: a plugin does not choose its callers: leave who out`,
	}
	if len(got) != len(want) {
		t.Fatalf("got %q, want number = len(want)", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

// A want that refers to another one is checked by itself, since the operator adds the lines one by one.
func TestWants_includeConfigValuesThatAreSecrets(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"wants":[{"secret":"KEY","to":"https://a.example/**"},{"config":{"KEY":{"secret":"KEY"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := Wants(m.Wants, m)
	if len(got) != 2 || strings.TrimSpace(got[1].Grants.String()) != "config: {KEY: {secret: KEY}}" {
		t.Errorf("got %+v, want the secret and the config value", got)
	}
}

func TestSecretVariables_areThoseOfToolsAndServers(t *testing.T) {
	for raw, want := range map[string]string{
		`{"server":{"env":{"TOKEN":"{secret.KEY}","HOST":"a.example"}}}`:                                                                    "map[TOKEN:KEY]",
		`{"tools":[{"name":"get","inputSchema":{"type":"object"},"_meta":{"dev.sallyport/command":{"env":{"A":"{secret.B}","C":"{c}"}}}}]}`: "map[A:B]",
		`{"server":{"env":{"TOKEN":"{secret.no name}"}}}`:                                                                                   "map[]",
		`{"server":7}`: "map[]",
	} {
		m, err := manifest.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(SecretVariables(m)); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
