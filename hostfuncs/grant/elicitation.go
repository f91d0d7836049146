package grant

import (
	"net/url"
)

func elicitationForm() lineForm {
	return lineForm{
		family: Elicitation, example: "elicitation: {url: https://accounts.example.com/**}", bare: true, structured: true,
		parse:   func(n Node) (rule, error) { return parseElicitation(n) },
		options: map[string]lineOption{"for": forOption(), "private": privateOption()},
	}
}

// pageRule is the value of an elicitation line.
type pageRule struct {
	url *netRule // of the pages that a user may be asked to open; nil is forms
}

func (r *pageRule) value() string {
	if r.url == nil {
		return ""
	}
	return formatMap(map[string]string{"url": r.url.address()})
}

func (r *pageRule) check(line int) error { return r.url.checkPrivate(line) }

// parseElicitation reads an empty value, for forms, or {url: PATTERN}, for URLs.
func parseElicitation(n Node) (*pageRule, error) {
	if n.Kind == Scalar && n.Value == "" {
		return &pageRule{}, nil
	}
	if n.Kind != Map || len(n.Nodes) != 1 || n.Nodes[0].Key != "url" || n.Nodes[0].Kind != Scalar {
		return nil, failf(n.Line, "elicitation alone allows forms; for an address write such as %q", example(Elicitation))
	}
	r, err := parseNet("GET "+n.Nodes[0].Value, n.Line)
	return &pageRule{&r}, err
}

// Elicit decides on a request to the client's user: by a form or, if u is not nil, to open that URL, which must come
// from urlnorm.URL.
func (s *Set) Elicit(u *url.URL) Decision {
	d := s.decide(Elicitation, func(g *Grant) bool {
		page := g.address()
		if u == nil || page == nil {
			return u == nil && page == nil
		}
		return page.covers("GET", u)
	})
	if d.Grant != nil || d.Beyond {
		return d
	}
	d.Suggest = string(Elicitation)
	if u != nil {
		d.Suggest = suggestElicit(u)
	}
	return d
}

func suggestElicit(u *url.URL) string {
	r := ruleFor("GET", u)
	return Quote(Grant{Family: Elicitation, rule: &pageRule{&r}}.String())
}

// SuggestPrivatePage returns the narrowest line for one URL of a private network that a user is asked to open; empty
// if no line would allow it.
func (s *Set) SuggestPrivatePage(u *url.URL) string {
	r := ruleFor("GET", u)
	r.private = true
	g := Grant{Family: Elicitation, rule: &pageRule{&r}}
	if d := s.With(g).Elicit(u); !d.Allowed || !d.Private {
		return ""
	}
	return Quote(g.String())
}
