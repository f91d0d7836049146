package uritemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	library "github.com/yosida95/uritemplate/v3"
)

// match is one match of a URI against a template.
type match struct {
	Template, URI string
	Values        map[string]string // nil for no match
}

// expanded returns templates that host and PDK take, each with its expansion and the values, and with URIs that are no
// expansions. The library expands to the same text, if that is ASCII.
func expanded(t *testing.T, r *rand.Rand, n int) (all []match) {
	t.Helper()
	texts := []string{"a", "value", "50%", "ö", "öäüß", "日本語", "😀𝄞x", "a b&c=d", "x,y", "e\u0301e\u0301", "~-._", "a/b", "?#"}
	for len(all) < n {
		values, given, inLibrary := map[string]string{}, map[string]any{}, library.Values{}
		template := "s://h"
		add := func(name string) string {
			values[name] = texts[r.IntN(len(texts))]
			given[name] = values[name]
			inLibrary.Set(name, library.String(values[name]))
			return name
		}
		for i := range r.IntN(3) {
			template += "/{" + add(fmt.Sprint("v", i)) + "}/x"
		}
		if r.IntN(2) == 0 {
			template += "/{+" + add("path") + "}"
		}
		if _, rest := values["path"]; !rest && r.IntN(2) == 0 {
			template += "{?" + add("q") + "," + add("r") + "}"
		}
		l, err := library.New(template)
		if err != nil {
			t.Fatal(err)
		}
		uri := expand(template, given)
		if got, err := l.Expand(inLibrary); err != nil || got != uri && isASCII(values) {
			t.Errorf("library: %s of %q: got %s, %v; want %s", template, values, got, err, uri)
		}
		all = append(all, match{template, uri, values}, match{template, strings.Replace(uri, "//h", "//i", 1), nil}, match{template, uri[:len("s://")], nil})
	}
	return all
}

// isASCII reports whether all values are of ASCII characters.
func isASCII(values map[string]string) bool {
	for _, v := range values {
		if strings.IndexFunc(v, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			return false
		}
	}
	return true
}

// inLibrary matches with the library.
func inLibrary(t *testing.T, m match) map[string]string {
	t.Helper()
	l, err := library.New(m.Template)
	if err != nil {
		t.Fatal(err)
	}
	found := l.Match(m.URI)
	if found == nil {
		return nil
	}
	values := map[string]string{}
	for name, v := range found {
		values[name] = v.String()
	}
	return values
}

// inPDK matches with the PDK, which is a module of its own and keeps its package to itself: a program of its source.
func inPDK(t *testing.T, all []match) []match {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "pdk", "go", "internal", "uritemplate", "uritemplate.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "package uritemplate")
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module matches\n\ngo 1.26\n", "template.go": "package main" + body, "main.go": `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var all []struct {
		Template, URI string
		Values        Vars
	}
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	for i, m := range all {
		all[i].Values = nil
		if values, ok := Must(m.Template).Match(m.URI); ok {
			all[i].Values = values
		}
	}
	json.NewEncoder(os.Stdout).Encode(all)
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(string(raw)), os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if raw, err = cmd.Output(); err != nil {
		t.Fatal(err)
	}
	var found []match
	if err := json.Unmarshal(raw, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// Host, PDK and yosida95/uritemplate agree about the templates that all of them take.
func TestTemplate_agreesWithPDKAndLibrary(t *testing.T) {
	const seed, n = 20261122, 3000
	all := expanded(t, rand.New(rand.NewPCG(seed, 2)), n)
	pdk := inPDK(t, all)
	for i, m := range all {
		host, err := Parse(m.Template)
		if err != nil {
			t.Fatal(err)
		}
		if got := host.Match(m.URI); got != (m.Values != nil) {
			t.Errorf("host: %s of %s: got %v, want %v", m.URI, m.Template, got, m.Values != nil)
		}
		for name, got := range host.Values(m.URI) {
			if got != m.Values[name] {
				t.Errorf("host: %s of %s: got %s = %q, want %q", m.URI, m.Template, name, got, m.Values[name])
			}
		}
		if got := pdk[i].Values; !maps.Equal(got, m.Values) || (got == nil) != (m.Values == nil) {
			t.Errorf("PDK: %s of %s: got %q, want %q", m.URI, m.Template, got, m.Values)
		}
		if got := inLibrary(t, m); !maps.Equal(got, m.Values) {
			t.Errorf("library: %s of %s: got %q, want %q", m.URI, m.Template, got, m.Values)
		}
	}
}

// The reasons of RATIONALE.md not to take the library.
func TestLibrary_failsOnCharactersAndMaps(t *testing.T) {
	for template, want := range map[string]string{"a://h/{x}": "a://h/%C3%B6%C3%A4%C3%BC%C3%9F", "a://h/{x:3}": "a://h/%C3%B6%C3%A4%C3%BC"} {
		if got := expand(template, map[string]any{"x": "öäüß"}); got != want {
			t.Errorf("%s: got %s, want %s", template, got, want)
		}
		if got, err := library.MustNew(template).Expand(library.Values{"x": library.String("öäüß")}); err == nil && got == want {
			t.Errorf("library: %s: got %s, which RATIONALE.md denies", template, got)
		}
	}
	keys := library.MustNew("a://h{?keys*}")
	uri, err := keys.Expand(library.Values{"keys": library.KV("semi", ";", "dot", ".")})
	if err != nil {
		t.Fatal(err)
	}
	if keys.Match(uri) != nil {
		t.Errorf("library: got a match of its expansion %s of a map, want none", uri)
	}
	if p, err := Parse("a://h{?keys*}"); err != nil || !p.Match(uri) {
		t.Errorf("got no match of %s, %v", uri, err)
	}
}
