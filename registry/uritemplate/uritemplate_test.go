package uritemplate

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// pair is one entry of an associative array; RFC 6570 keeps their order.
type pair struct{ key, value string }

// rfcValues are the variables of RFC 6570, §3.2.
var rfcValues = map[string]any{
	"count": []string{"one", "two", "three"}, "dom": []string{"example", "com"},
	"dub": "me/too", "hello": "Hello World!", "half": "50%", "var": "value", "who": "fred",
	"base": "http://example.com/home/", "path": "/foo/bar", "list": []string{"red", "green", "blue"},
	"keys": []pair{{"semi", ";"}, {"dot", "."}, {"comma", ","}},
	"v":    "6", "x": "1024", "y": "768", "empty": "", "empty_keys": []pair{},
}

// expand is the expansion algorithm of RFC 6570, appendix A.
func expand(template string, values map[string]any) string {
	var out strings.Builder
	for template != "" {
		literal, expression, rest, err := cut(template)
		if err != nil {
			return "error: " + err.Error()
		}
		out.WriteString(literal)
		if expression != "" {
			out.WriteString(expandOne(expression, values))
		}
		template = rest
	}
	return out.String()
}

func expandOne(expression string, values map[string]any) string {
	op, given := operatorOf(expression[0])
	if given {
		expression = expression[1:]
	}
	var parts []string
	for _, spec := range strings.Split(expression, ",") {
		v, _ := parseVar(spec)
		switch value := values[v.name].(type) {
		case string:
			parts = append(parts, op.named1(v.name, op.encode(firstRunes(value, v.max))))
		case []string:
			parts = append(parts, op.list(v, value)...)
		case []pair:
			parts = append(parts, op.pairs(v, value)...)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return op.first + strings.Join(parts, op.sep)
}

// named1 returns name=value for an operator with names, and the value for others.
func (o operator) named1(name, value string) string {
	if !o.named {
		return value
	}
	if value == "" && o.sep == ";" {
		return name
	}
	return name + "=" + value
}

func (o operator) list(v variable, values []string) []string {
	if len(values) == 0 || v.max > 0 { // the RFC has no prefixes of lists
		return nil
	}
	var parts []string
	for _, x := range values {
		if v.explode {
			parts = append(parts, o.named1(v.name, o.encode(x)))
		} else {
			parts = append(parts, o.encode(x))
		}
	}
	if v.explode {
		return parts
	}
	return []string{o.named1(v.name, strings.Join(parts, ","))}
}

func (o operator) pairs(v variable, values []pair) []string {
	if len(values) == 0 || v.max > 0 { // the RFC has no prefixes of associative arrays
		return nil
	}
	var parts []string
	for _, x := range values {
		if v.explode {
			parts = append(parts, x.key+"="+o.encode(x.value))
		} else {
			parts = append(parts, x.key, o.encode(x.value))
		}
	}
	if v.explode {
		return parts
	}
	return []string{o.named1(v.name, strings.Join(parts, ","))}
}

func (o operator) encode(s string) string {
	keep := "-._~"
	if o.reserved {
		keep += ":/?#[]@!$&'()*+,;="
	}
	var out strings.Builder
	for _, b := range []byte(s) {
		if strings.IndexByte(letters+digits, b) >= 0 || b < utf8.RuneSelf && strings.IndexByte(keep, b) >= 0 {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

func firstRunes(s string, n int) string {
	if r := []rune(s); n > 0 && len(r) > n {
		return string(r[:n])
	}
	return s
}

// rfcExamples are the examples of RFC 6570, §3.2, with their expansions.
var rfcExamples = [][2]string{
	{"{count}", "one,two,three"}, {"{count*}", "one,two,three"}, {"{/count}", "/one,two,three"},
	{"{/count*}", "/one/two/three"}, {"{;count}", ";count=one,two,three"},
	{"{;count*}", ";count=one;count=two;count=three"}, {"{?count}", "?count=one,two,three"},
	{"{?count*}", "?count=one&count=two&count=three"}, {"{&count*}", "&count=one&count=two&count=three"},
	{"{var}", "value"}, {"{hello}", "Hello%20World%21"}, {"{half}", "50%25"}, {"O{empty}X", "OX"},
	{"O{undef}X", "OX"}, {"{x,y}", "1024,768"}, {"{x,hello,y}", "1024,Hello%20World%21,768"},
	{"?{x,empty}", "?1024,"}, {"?{x,undef}", "?1024"}, {"?{undef,y}", "?768"}, {"{var:3}", "val"},
	{"{var:30}", "value"}, {"{list}", "red,green,blue"}, {"{list*}", "red,green,blue"},
	{"{keys}", "semi,%3B,dot,.,comma,%2C"}, {"{keys*}", "semi=%3B,dot=.,comma=%2C"},
	{"{+var}", "value"}, {"{+hello}", "Hello%20World!"}, {"{+half}", "50%25"},
	{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"}, {"{+base}index", "http://example.com/home/index"},
	{"O{+empty}X", "OX"}, {"O{+undef}X", "OX"}, {"{+path}/here", "/foo/bar/here"},
	{"here?ref={+path}", "here?ref=/foo/bar"}, {"up{+path}{var}/here", "up/foo/barvalue/here"},
	{"{+x,hello,y}", "1024,Hello%20World!,768"}, {"{+path,x}/here", "/foo/bar,1024/here"},
	{"{+path:6}/here", "/foo/b/here"}, {"{+list}", "red,green,blue"}, {"{+list*}", "red,green,blue"},
	{"{+keys}", "semi,;,dot,.,comma,,"}, {"{+keys*}", "semi=;,dot=.,comma=,"},
	{"{#var}", "#value"}, {"{#hello}", "#Hello%20World!"}, {"{#half}", "#50%25"}, {"foo{#empty}", "foo#"},
	{"foo{#undef}", "foo"}, {"{#x,hello,y}", "#1024,Hello%20World!,768"}, {"{#path,x}/here", "#/foo/bar,1024/here"},
	{"{#path:6}/here", "#/foo/b/here"}, {"{#list}", "#red,green,blue"}, {"{#list*}", "#red,green,blue"},
	{"{#keys}", "#semi,;,dot,.,comma,,"}, {"{#keys*}", "#semi=;,dot=.,comma=,"},
	{"{.who}", ".fred"}, {"{.who,who}", ".fred.fred"}, {"{.half,who}", ".50%25.fred"}, {"www{.dom*}", "www.example.com"},
	{"X{.var}", "X.value"}, {"X{.empty}", "X."}, {"X{.undef}", "X"}, {"X{.var:3}", "X.val"},
	{"X{.list}", "X.red,green,blue"}, {"X{.list*}", "X.red.green.blue"}, {"X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
	{"X{.keys*}", "X.semi=%3B.dot=..comma=%2C"}, {"X{.empty_keys}", "X"}, {"X{.empty_keys*}", "X"},
	{"{/who}", "/fred"}, {"{/who,who}", "/fred/fred"}, {"{/half,who}", "/50%25/fred"}, {"{/who,dub}", "/fred/me%2Ftoo"},
	{"{/var}", "/value"}, {"{/var,empty}", "/value/"}, {"{/var,undef}", "/value"}, {"{/var,x}/here", "/value/1024/here"},
	{"{/var:1,var}", "/v/value"}, {"{/list}", "/red,green,blue"}, {"{/list*}", "/red/green/blue"},
	{"{/list*,path:4}", "/red/green/blue/%2Ffoo"}, {"{/keys}", "/semi,%3B,dot,.,comma,%2C"},
	{"{/keys*}", "/semi=%3B/dot=./comma=%2C"},
	{"{;who}", ";who=fred"}, {"{;half}", ";half=50%25"}, {"{;empty}", ";empty"}, {"{;v,empty,who}", ";v=6;empty;who=fred"},
	{"{;v,bar,who}", ";v=6;who=fred"}, {"{;x,y}", ";x=1024;y=768"}, {"{;x,y,empty}", ";x=1024;y=768;empty"},
	{"{;x,y,undef}", ";x=1024;y=768"}, {"{;hello:5}", ";hello=Hello"}, {"{;list}", ";list=red,green,blue"},
	{"{;list*}", ";list=red;list=green;list=blue"}, {"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
	{"{;keys*}", ";semi=%3B;dot=.;comma=%2C"},
	{"{?who}", "?who=fred"}, {"{?half}", "?half=50%25"}, {"{?x,y}", "?x=1024&y=768"}, {"{?x,y,empty}", "?x=1024&y=768&empty="},
	{"{?x,y,undef}", "?x=1024&y=768"}, {"{?var:3}", "?var=val"}, {"{?list}", "?list=red,green,blue"},
	{"{?list*}", "?list=red&list=green&list=blue"}, {"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
	{"{?keys*}", "?semi=%3B&dot=.&comma=%2C"},
	{"{&who}", "&who=fred"}, {"{&half}", "&half=50%25"}, {"?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"{&x,y,empty}", "&x=1024&y=768&empty="}, {"{&x,y,undef}", "&x=1024&y=768"}, {"{&var:3}", "&var=val"},
	{"{&list}", "&list=red,green,blue"}, {"{&list*}", "&list=red&list=green&list=blue"},
	{"{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"}, {"{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
}

// A template matches its expansions: the RFC's examples.
func TestTemplate_matchesTheExamplesOfTheRFC(t *testing.T) {
	for _, e := range rfcExamples {
		template, want := e[0], e[1]
		if got := expand(template, rfcValues); got != want {
			t.Errorf("expand(%s) = %s, want %s", template, got, want)
		}
		p, err := Parse(template)
		if err != nil {
			t.Errorf("%s: got %v, want no error", template, err)
			continue
		}
		if !p.Match(want) {
			t.Errorf("%s does not match %s", template, want)
		}
	}
}

func TestTemplate_matches(t *testing.T) {
	for _, c := range []struct {
		template string
		yes, no  []string
	}{
		{"test://template/{id}/data", []string{"test://template/1/data", "test://template/a%2Fb/data", "test://template/ö/data", "test://template/a:b/data"},
			[]string{"test://template/1/2/data", "test://template/1/data/", "xtest://template/1/data", "test://template/1?x/data", "test://template/a b/data", "test://template/1/data\n"}},
		{"files://w/{+path}", []string{"files://w/a/b/c", "files://w/a?b#c", "files://w/"}, []string{"files://w", "files://x/a", "files://w/a b"}},
		{"q://h/s{?q,page}", []string{"q://h/s", "q://h/s?q=a", "q://h/s?page=2", "q://h/s?q=a&page=2"},
			[]string{"q://h/s?page=2&q=a", "q://h/s?other=1", "q://h/s?q=a#f", "q://h/s&q=a"}},
		{"a://h/{x:3}", []string{"a://h/abc", "a://h/a%20b", "a://h/", "a://h/%C3%B6%E6%97%A5%F0%9F%98%80", "a://h/öäü", "a://h/%FF%FE%80"},
			[]string{"a://h/abcd", "a://h/%20%20%20%20", "a://h/%C3%B6%C3%B6%C3%B6%C3%B6", "a://h/%C3%B6%C3%B6%C3%B6x"}},
		{"a://h{/segments*}", []string{"a://h", "a://h/a", "a://h/a/b/c"}, []string{"a://ha", "a://h/a?b"}},
		{"a://h/f{.ext}", []string{"a://h/f", "a://h/f.tar.gz"}, []string{"a://h/f/x", "a://h/fx"}},
		{"a://h/literal", []string{"a://h/literal"}, []string{"a://h/literalx", "a://h/litera"}},
		{"a://h/(x)+{y}", []string{"a://h/(x)+1"}, []string{"a://h/xx1"}},
	} {
		p, err := Parse(c.template)
		if err != nil {
			t.Fatalf("%s: got %v, want no error", c.template, err)
		}
		for _, uri := range c.yes {
			if !p.Match(uri) {
				t.Errorf("%s with %q: got no match, want one", c.template, uri)
			}
		}
		for _, uri := range c.no {
			if p.Match(uri) {
				t.Errorf("%s with %q: got a match, want none", c.template, uri)
			}
		}
	}
}

func TestParse_refusesBadTemplates(t *testing.T) {
	for _, template := range []string{
		"{", "a{b", "a}b", "{}", "{+}", "{a b}", "{a,}", "{a:0}", "{a:x}", "{a:10000}", "{a:01}", "{a:+1}", "{!a}", "{a.}", "{=x}", "{|x}",
		"a b{c}", "a\x01{c}", "a\x7f", "{a{b}}", strings.Repeat("{a}", 33), strings.Repeat("a", maxTemplate+1),
	} {
		if _, err := Parse(template); err == nil {
			t.Errorf("%.40q: got no error, want one", template)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, e := range rfcExamples {
		f.Add(e[0], e[1])
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		p, err := Parse(template)
		if err != nil {
			return
		}
		if p.Match(uri) && !strings.HasPrefix(uri, p.Prefix()) {
			t.Errorf("%q with %q: got a match without the prefix %q, want none", template, uri, p.Prefix())
		}
		if plain := expand(template, rfcValues); !p.Match(plain) && len(plain) < 8<<10 {
			t.Errorf("%q with its expansion %q: got no match, want one", template, plain)
		}
	})
}

func TestTemplate_schemeIsLiteral(t *testing.T) {
	for template, want := range map[string]string{
		"notes://work/{id}": "notes", "a+b-c.1://h{?q}": "a+b-c.1", "x://h{/a*}": "x", "x://h{#a}": "x", "x://h": "x", "x:///{a}": "x",
		"x://h{a}": "", "x://{h}/a": "", "x://{/a}": "", "{s}://h/a": "", "x{s}://h/a": "", "1x://h/a": "", "://h/a": "", "x:{a}": "", "x_y://h/a": "",
	} {
		p, err := Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		if scheme, ok := p.Scheme(); ok != (want != "") || ok && scheme != want {
			t.Errorf("%s: %q %v, want %q", template, scheme, ok, want)
		}
	}
}

func TestTemplate_shapeForgetsNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"x://h/{a}", "x://h/{b}", true}, {"x://h/{a}", "x://h/{+a}", false}, {"x://h{?a}", "x://h{?b}", false},
		{"x://h/{a:3}", "x://h/{b:3}", true}, {"x://h/{a:3}", "x://h/{a}", false}, {"x://h/{a}", "x://i/{a}", false},
	} {
		a, _ := Parse(c.a)
		b, _ := Parse(c.b)
		if (a.Shape() == b.Shape()) != c.same {
			t.Errorf("%s and %s: got shapes %q and %q, want the same %v", c.a, c.b, a.Shape(), b.Shape(), c.same)
		}
	}
}

func TestTemplate_decodesValues(t *testing.T) {
	for _, tt := range []struct{ template, uri, want string }{
		{"n://h/{id}", "n://h/7", "map[id:7]"},
		{"n://h/{id}", "n://h/a%2Fb", "map[id:a/b]"},
		{"n://h/{id}/{name}{?page}", "n://h/7/x?page=2", "map[id:7 name:x]"},
		{"file:///{+path}", "file:///a/b%20c", "map[path:a/b c]"},
		{"n://h/{a,b}/{c}", "n://h/1,2/3", "map[c:3]"},
		{"n://h/{a}/{a}", "n://h/1/2", "map[]"},
		{"n://h/{a}/{a}", "n://h/1/1", "map[a:1]"},
		{"n://h/{a:3}", "n://h/1", "map[]"},
		{"n://h/{id}", "n://other/7", "map[]"},
		{"n://h/{id}", "n://h/%zz", "map[]"},
	} {
		p, err := Parse(tt.template)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Values(tt.uri)); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.template, tt.uri, got, tt.want)
		}
	}
}
