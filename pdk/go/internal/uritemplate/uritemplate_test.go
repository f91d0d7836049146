package uritemplate

import (
	"maps"
	"testing"
)

func TestURITemplate_matchesItsExpansions(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          Vars // nil for no match
	}{
		{"test://t/{id}/data", "test://t/123/data", Vars{"id": "123"}},
		{"test://t/{id}/data", "test://t/1/2/data", nil},
		{"test://t/{id}/data", "test://t//data", nil},
		{"test://t/{id}/data", "test://t/a%2Fb%20c/data", Vars{"id": "a/b c"}},
		{"test://t/{id}/data", "test://t/a%zz/data", nil},
		{"test://t/{id}/data", "test://t/a%4", nil},
		{"test://t/{id}", "test://t/a?x=1", nil},
		{"file:///{+path}", "file:///a/b.txt", Vars{"path": "a/b.txt"}},
		{"file:///{+path}", "file:///", nil},
		{"x://{a}-{b}", "x://1-2-3", Vars{"a": "1", "b": "2-3"}},
		{"x://h/{+p}/raw", "x://h/a/raw/raw", Vars{"p": "a/raw"}},
		{"x://q{?a,b}", "x://q?b=2+3&c=4", Vars{"b": "2 3"}},
		{"x://q{?a,b}", "x://q", Vars{}},
		{"x://q{?a,b}", "x://q?a=%", nil},
		{"x://q{?a,b}", "x://r?a=1", nil},
	} {
		got, ok := Must(c.template).Match(c.uri)
		if ok != (c.want != nil) || ok && !maps.Equal(got, c.want) {
			t.Errorf("%s of %s: got %v, %v; want %v", c.uri, c.template, got, ok, c.want)
		}
	}
}

func TestParseTemplate_namesTheMistake(t *testing.T) {
	for template, want := range map[string]string{
		"x://{a":          "a { without }",
		"x://{a}{b}":      "two variables with nothing between them",
		"x://{a*}":        "{a*} is not one of {x}, {+x}, {?x,y}",
		"x://{}":          "{} is not one of {x}, {+x}, {?x,y}",
		"x://{?a}/b":      "{?…} must come last",
		"{+a}":            "does not begin with a literal scheme",
		"":                "does not begin with a literal scheme",
		"x://{/segments}": "{/segments} is not one of {x}, {+x}, {?x,y}",
	} {
		if _, got := Parse(template); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
}

// A URI matches only if it is an expansion of the template.
func FuzzURITemplate(f *testing.F) {
	f.Add("x://{a}-{b}", "x://1-2-3")
	f.Add("file:///{+path}", "file:///a%41")
	f.Add("x://q{?a}", "x://q?a=%zz&a")
	f.Fuzz(func(t *testing.T, template, uri string) {
		if len(template) > 64 || len(uri) > 64 { // backtracking is bounded only by the template
			return
		}
		p, problem := Parse(template)
		if problem != "" {
			return
		}
		v, ok := p.Match(uri)
		if ok && len(p.query) == 0 && len(v) == 0 && uri != p.parts[0].literal {
			t.Errorf("%q with %q: got a match without variables, want none", uri, template)
		}
	})
}
