package hostfuncs

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// configured returns the config values that represent secrets: placeholders, or the value itself for a line with
// reveal.
func (p *Policy) configured() map[string]string {
	out := map[string]string{}
	lines := p.plugin.Grants.Secrets()
	for name, of := range p.plugin.Grants.Lines().ConfigSecrets() {
		i := slices.IndexFunc(lines, func(s grant.Secret) bool { return s.Name == of })
		if i < 0 {
			continue
		}
		out[name] = p.vault.Placeholder(of)
		if !lines[i].Reveal {
			continue
		}
		if text, err := p.vault.Value(lines[i], p.host.options.Flags); err == nil {
			out[name] = text
		} else {
			p.host.options.Logger.Warn("a config value has a placeholder", "plugin", p.plugin.Name, "name", name, "reason", asAskError(err).Message)
		}
	}
	return out
}

// Secret returns the text for a secret that a line grants to this call, by the line's name or its source: the
// placeholder, or for a line with reveal the value, as secrets/get does. The error is one of Ask.
func (g *Gate) Secret(ctx context.Context, nameOrSource string) (text string, ok bool, err error) {
	for _, line := range g.rules.grants.Secrets() {
		switch {
		case line.Name != nameOrSource && line.From != nameOrSource:
			continue
		case !line.Reveal:
			return g.rules.vault.Placeholder(line.Name), true, nil
		}
		answer, err := g.Ask(ctx, "secrets/get", jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, line.Name)}}.Append(nil), nil)
		text, _ = jsonraw.String(jsonraw.Get(answer, "value"))
		return text, err == nil, err
	}
	return "", false, nil
}

// inject inserts the secrets that lines send to this address into a request, and returns their names; nil means that
// no line matches. Lines are matched against the guest's request. A missing value is a *refusal.
func inject(g *Gate, out *http.Request, r *egress.Request, data []byte) (put []string, err error) {
	lines := g.rules.grants.SecretsFor(r.Method, r.URL)
	if len(lines) == 0 {
		return nil, nil
	}
	put = make([]string, 0, len(lines)) // not nil: the answer may contain a value all the same
	used := map[string]bool{}
	for _, line := range lines {
		placeholder := g.rules.vault.Placeholder(line.Name)
		held := carries(out, data, placeholder)
		if !held && (line.Text == "" || used[strings.ToLower(line.Header)+"?"+line.Query]) {
			continue
		}
		value, err := g.rules.vault.Value(line, g.session.flags())
		if err != nil {
			return nil, unavailable(err)
		}
		if held {
			data = replaceIn(out, data, placeholder, value)
		}
		putSecret(out, line, value)
		used[strings.ToLower(line.Header)+"?"+line.Query] = true
		put = append(put, line.Name)
	}
	return put, nil
}

// unavailable returns the denial for a value that cannot be had. The command that sets a value of the caller names the
// caller.
func unavailable(err error) *refusal {
	ask := asAskError(err)
	return &refusal{reason: ask.Message, hint: ask.Hint, named: ask.Hint != "", kind: runtime.KindUnavailable, final: true}
}

// putSecret sets the header or query parameter of a line.
func putSecret(out *http.Request, line grant.Secret, value string) {
	text := strings.ReplaceAll(line.Text, grant.Placeholder, value)
	switch {
	case line.Header != "":
		out.Header.Set(line.Header, text)
	case line.Query != "":
		u := *out.URL
		u.RawQuery = withoutKey(u.RawQuery, line.Query)
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(line.Query) + "=" + url.QueryEscape(text)
		out.URL = &u
	}
}

// withoutKey removes a key from a query, regardless of its encoding.
func withoutKey(query, key string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); pair != "" && (err != nil || plain != key) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// carries reports whether a request contains a placeholder.
func carries(out *http.Request, data []byte, placeholder string) bool {
	if strings.Contains(out.URL.RawQuery, placeholder) || bytes.Contains(data, []byte(placeholder)) {
		return true
	}
	for _, values := range out.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, placeholder) }) {
			return true
		}
	}
	return false
}

// replaceIn replaces a placeholder by its value in header fields, the query and the body.
func replaceIn(out *http.Request, data []byte, placeholder, value string) []byte {
	for name, values := range out.Header {
		values = slices.Clone(values)
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, placeholder, value)
		}
		out.Header[name] = values
	}
	u := *out.URL
	u.RawQuery = strings.ReplaceAll(u.RawQuery, placeholder, url.QueryEscape(value))
	out.URL = &u
	if !bytes.Contains(data, []byte(placeholder)) {
		return data
	}
	data = bytes.ReplaceAll(data, []byte(placeholder), []byte(value))
	egress.SetBody(out, data)
	return data
}

// Redact removes the values of the plugin's secrets from text, as package secret detects them. It is for plugin
// output, which is cleaned later: values split by invisible characters are detected in the cleaned form.
func (g *Gate) Redact(text []byte) []byte {
	r := g.rules.vault.Redactor()
	if r == nil {
		return text
	}
	text = r.Text(text)
	joined := cleaned(text)
	if found := r.Text(joined); !bytes.Equal(found, joined) {
		return found
	}
	return text
}

// cleaned returns JSON with all of its strings cleaned, or cleaned text.
func cleaned(text []byte) []byte {
	if json.Valid(text) {
		out, _ := sanitize.JSON(text, nil)
		return out
	}
	out, _ := sanitize.Text(string(text))
	return []byte(out)
}

// redactHeader removes secret values from the header of an answer.
func redactHeader(g *Gate, h http.Header) {
	if g.rules.vault.Redactor() == nil {
		return
	}
	for name, values := range h {
		clean := g.rules.redact
		if name == "Location" { // which is read for the next request
			clean = g.rules.vault.Restorer(func(name string) bool { return hasPlaceholder(g.rules.grants, name) || g.program.holds(name) }).String
		}
		for i, v := range values {
			values[i] = clean(v)
		}
		h[name] = values
	}
}

// hasPlaceholder reports whether the plugin's configuration has a placeholder for a secret.
func hasPlaceholder(set *grant.Set, name string) bool {
	for _, of := range set.Lines().ConfigSecrets() {
		if of == name {
			return true
		}
	}
	return false
}

// listSecrets serves secrets/list: {secrets: [{name, to?, config?}]}, the names of the secrets that the host inserts
// into requests of the plugin, never values.
func listSecrets(ctx context.Context, g *Gate, _ json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	if err := g.life.alive(ctx); err != nil {
		return nil, err
	}
	type entry struct {
		Name   string   `json:"name"`
		To     []string `json:"to,omitempty"`
		Config []string `json:"config,omitempty"`
	}
	config := g.rules.grants.Lines().ConfigSecrets()
	list := []entry{}
	for _, s := range g.rules.grants.Secrets() {
		e := entry{Name: s.Name, To: s.Targets()}
		for _, name := range slices.Sorted(maps.Keys(config)) {
			if config[name] == s.Name {
				e.Config = append(e.Config, name)
			}
		}
		list = append(list, e)
	}
	return json.Marshal(map[string]any{"secrets": list})
}

// revealSecret serves secrets/get {name} → {value}, for lines with reveal only.
func revealSecret(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	var value string
	err := g.pass(ctx, effect{
		family: "secret", act: "read the secret " + cut(name, maxMethod), target: "reveal " + cut(name, maxMethod),
		decide: func(s *grant.Set) grant.Decision { return revealed(s, name) },
		do: func(context.Context, grant.Decision) (err error) {
			for _, line := range g.rules.grants.Secrets() {
				if line.Name == name && line.Reveal {
					value, err = g.rules.vault.Value(line, g.session.flags())
				}
				if err != nil && asAskError(err).Hint != "" {
					return unavailable(err)
				}
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return jsonraw.Object{{Key: "value", Value: jsonraw.AppendString(nil, value)}}.Append(nil), nil
}

// revealed decides whether a plugin may read a value. It suggests no line: a plugin must not be able to ask its
// operator for a secret.
func revealed(s *grant.Set, name string) grant.Decision {
	return grant.Decision{Allowed: slices.ContainsFunc(s.Secrets(), func(l grant.Secret) bool { return l.Name == name && l.Reveal })}
}

func secretFamily() family {
	return family{
		name: "secret", acts: []string{"read the secret NAME"}, explain: named("secret", "read the secret ", revealed),
		methods: map[string]method{"secrets/list": listSecrets, "secrets/get": revealSecret}, // values are never journaled
		stays:   true,
	}
}
