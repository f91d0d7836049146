// Package uritemplate matches URIs with the subset of RFC 6570 templates that plugins may use.
package uritemplate

import (
	"slices"
	"strconv"
	"strings"
)

// Vars are the decoded variables of a URI template.
type Vars map[string]string

// Template is a parsed URI template: alternating literals and variables, and then query variables.
type Template struct {
	parts []part
	query []string
}

type part struct {
	literal  string
	variable string // "" for a literal
	slashes  bool   // {+x}
}

// Must parses a template from the plugin's source, at start. It panics if the template is invalid.
func Must(s string) *Template {
	t, problem := Parse(s)
	if problem != "" {
		panic("sallyport: template " + s + ": " + problem)
	}
	return t
}

// Parse parses a template. problem is "" if it is valid.
func Parse(s string) (t *Template, problem string) {
	t = &Template{}
	for s != "" {
		literal, rest, found := strings.Cut(s, "{")
		if literal != "" {
			t.parts = append(t.parts, part{literal: literal})
		}
		if !found {
			break
		}
		expr, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, "a { without }"
		}
		if problem = t.expression(expr, after); problem != "" {
			return nil, problem
		}
		s = after
	}
	if len(t.parts) == 0 || !strings.Contains(t.parts[0].literal, ":") {
		return nil, "does not begin with a literal scheme"
	}
	return t, ""
}

func (t *Template) expression(expr, after string) (problem string) {
	if names, ok := strings.CutPrefix(expr, "?"); ok {
		if after != "" {
			return "{?…} must come last"
		}
		t.query = strings.Split(names, ",")
		return ""
	}
	name, slashes := strings.CutPrefix(expr, "+")
	if name == "" || strings.ContainsAny(name, "#./;&,*:+") {
		return "{" + expr + "} is not one of {x}, {+x}, {?x,y}"
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].variable != "" {
		return "two variables with nothing between them"
	}
	t.parts = append(t.parts, part{variable: name, slashes: slashes})
	return ""
}

// Match returns the variables of a URI. ok is false if the URI does not match.
func (t *Template) Match(uri string) (Vars, bool) {
	v := Vars{}
	if len(t.query) > 0 {
		var query string
		uri, query, _ = strings.Cut(uri, "?")
		if !t.matchQuery(query, v) {
			return nil, false
		}
	}
	return v, matchParts(t.parts, uri, v)
}

func (t *Template) matchQuery(query string, v Vars) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		if !slices.Contains(t.query, name) {
			continue
		}
		value, ok := unescape(strings.ReplaceAll(raw, "+", " "))
		if !ok {
			return false
		}
		v[name] = value
	}
	return true
}

// matchParts matches from the left. A variable takes the shortest text for which the rest matches.
func matchParts(parts []part, s string, v Vars) bool {
	if len(parts) == 0 {
		return s == ""
	}
	p := parts[0]
	if p.variable == "" {
		rest, ok := strings.CutPrefix(s, p.literal)
		return ok && matchParts(parts[1:], rest, v)
	}
	for end := 1; end <= len(s); end++ {
		if !p.slashes && strings.ContainsAny(s[end-1:end], "/?#") {
			return false
		}
		if matchParts(parts[1:], s[end:], v) {
			return p.set(s[:end], v)
		}
	}
	return false
}

func (p part) set(raw string, v Vars) bool {
	value, ok := unescape(raw)
	v[p.variable] = value
	return ok
}

// unescape decodes percent-encoding. Importing net/url would add 200 KB to every plugin.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		out = append(out, byte(n))
		i += 2
	}
	return string(out), true
}
