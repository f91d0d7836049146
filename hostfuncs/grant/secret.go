package grant

import (
	"net/url"
	"slices"
	"strings"
)

// Secret is a line that allows the host to put a value into requests of the plugin.
type Secret struct {
	Line int
	Name string
	// From is the source of the value: "env NAME", "file PATH", "keyring SERVICE/USER". If empty, it is the
	// environment variable with the name, else the entry of the name in the keyring's service "sallyport".
	From string
	// Header or Query names the field for the value; at most one is set. Text is the content of the field, with
	// Placeholder for the value.
	Header, Query, Text string
	// Reveal allows the plugin to get the value itself.
	Reveal bool
	// PerPrincipal means that each caller has a value of its own, and that no other source has one.
	PerPrincipal bool

	to []netRule
}

// Placeholder stands for the value in Secret.Text.
const Placeholder = "{secret}"

// Covers reports whether the value may be sent to an address, which is canonical, in every reading of a server.
func (s *Secret) Covers(method string, u *url.URL) bool {
	return slices.ContainsFunc(s.to, func(r netRule) bool { return r.coversAlways(method, u) })
}

// Targets returns the patterns that the value may be sent to, with their methods.
func (s *Secret) Targets() []string {
	out := make([]string, len(s.to))
	for i := range s.to {
		out[i] = s.to[i].String()
	}
	return out
}

// maxSecretName is the maximum length of a name, which replaces each echo of the value.
const maxSecretName = 128

func secretForm() lineForm {
	return lineForm{
		family: SecretFamily, example: "secret: API_TOKEN {to: https://api.example.com/**, as: \"Authorization: Bearer {secret}\"}",
		parse: parseSecret,
		options: map[string]lineOption{
			"as":     option((*Secret).readAs, (*Secret).writeAs),
			"for":    forOption(),
			"from":   option((*Secret).readFrom, (*Secret).writeFrom),
			"reveal": flagOption("", func(s *Secret) *bool { return &s.Reveal }),
			"to":     option((*Secret).readTo, (*Secret).writeTo),
		},
	}
}

// perPrincipal follows the name of a secret of which each caller has a value.
const perPrincipal = " per principal"

func (s *Secret) value() string {
	if s.PerPrincipal {
		return s.Name + perPrincipal
	}
	return s.Name
}

func parseSecret(n Node) (rule, error) {
	s := &Secret{Line: n.Line}
	s.Name, s.PerPrincipal = strings.CutSuffix(n.Value, perPrincipal)
	word := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if n.Kind != Scalar || s.Name == "" || strings.Trim(s.Name, word) != "" || len(s.Name) > maxSecretName {
		return s, failf(n.Line, "secret takes a name of letters, digits and _ . -, such as %q", example(SecretFamily))
	}
	return s, nil
}

func (s *Secret) readTo(n Node) error {
	nodes, err := texts(n)
	for _, e := range nodes {
		if err != nil {
			break
		}
		text := e.Value
		if first, _, _ := strings.Cut(text, "://"); !strings.Contains(first, " ") {
			text = "GET " + text
		}
		var r netRule
		if strings.Contains(text, "{") {
			return failf(e.Line, "to: holds no braces: write the addresses themselves")
		}
		r, err = parseNet(text, e.Line)
		s.to = append(s.to, r)
	}
	return err
}

func (s *Secret) writeTo() string { return listed(s.Targets()) }

// readAs reads "Header: text {secret}" or "?key={secret}".
func (s *Secret) readAs(n Node) error {
	const usage = `as says where the value goes: write such as as: "Authorization: Bearer {secret}" or as: "?key={secret}"`
	if n.Kind != Scalar || strings.Count(n.Value, Placeholder) != 1 {
		return failf(n.Line, usage)
	}
	if key, found := strings.CutPrefix(n.Value, "?"); found {
		key, text, pair := strings.Cut(key, "=")
		if !pair || text != Placeholder || key == "" || strings.Trim(key, wordBytes) != "" {
			return failf(n.Line, usage)
		}
		s.Query, s.Text = key, text
		return nil
	}
	name, text, found := strings.Cut(n.Value, ":")
	if !found || name == "" || strings.Trim(name, wordBytes) != "" || !strings.Contains(text, Placeholder) {
		return failf(n.Line, usage)
	}
	if hostHeader(name) {
		return failf(n.Line, "header %s is the host's own: the value cannot go there", name)
	}
	s.Header, s.Text = name, strings.TrimSpace(text)
	return nil
}

// wordBytes are the characters of field names that services use.
const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// hostHeader reports whether a field frames a message or belongs to its connection.
func hostHeader(name string) bool {
	return slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
		"accept-encoding", "expect", "keep-alive"}, strings.ToLower(name))
}

func (s *Secret) writeAs() string {
	switch {
	case s.Header != "":
		return formatWord(s.Header + ": " + s.Text)
	case s.Query != "":
		return formatWord("?" + s.Query + "=" + s.Text)
	}
	return ""
}

func (s *Secret) readFrom(n Node) error {
	kind, name, _ := strings.Cut(n.Value, " ")
	service, user, pair := strings.Cut(name, "/")
	ok := n.Kind == Scalar && name != "" && (kind == "env" || kind == "file" && (name[0] == '/' || isDrive(name) || strings.HasPrefix(name, "~/")) ||
		kind == "keyring" && pair && service != "" && user != "")
	if !ok {
		return failf(n.Line, "from says where the value is: write env NAME, file ~/PATH or keyring SERVICE/USER")
	}
	s.From = n.Value
	return nil
}

func (s *Secret) writeFrom() string {
	if s.From == "" {
		return ""
	}
	return formatWord(s.From)
}

// check finds a line without effect.
func (s *Secret) check(line int) error {
	switch {
	case s.PerPrincipal && s.From != "":
		return failf(line, "from is one value for all callers: leave it out, and sallyport secret set %s --principal NAME keeps the value of each", s.Name)
	case len(s.to) == 0 && !s.Reveal:
		return failf(line, "a secret goes somewhere: write such as \"secret: %s {to: https://api.example.com/**}\"", s.Name)
	case s.Text != "" && len(s.to) == 0:
		return failf(line, "as needs to: the addresses that the value goes to")
	}
	return nil
}

// Secrets returns the lines of secrets that every ceiling allows, in their order.
func (s *Set) Secrets() []Secret {
	var out []Secret
	for _, g := range s.all() {
		if line := g.secret(); line != nil && ceilingsGrant(s, line.Name) {
			out = append(out, *line)
		}
	}
	return out
}

func (g *Grant) grantsSecret(name string) bool {
	s := g.secret()
	return s != nil && s.Name == name
}

// ceilingsGrant reports whether every ceiling of a set grants a secret.
func ceilingsGrant(s *Set, name string) bool {
	for _, c := range s.ceilings() {
		if !slices.ContainsFunc(c.all(), func(g Grant) bool { return g.grantsSecret(name) }) {
			return false
		}
	}
	return true
}

// SecretsFor returns the lines with a value that may be sent to an address, which is canonical. A line with the same
// name in each ceiling must allow it too.
func (s *Set) SecretsFor(method string, u *url.URL) []Secret {
	var out []Secret
	for _, line := range s.Secrets() {
		allowed := line.Covers(method, u)
		for _, c := range s.ceilings() {
			allowed = allowed && slices.ContainsFunc(c.all(), func(g Grant) bool {
				return g.grantsSecret(line.Name) && g.secret().Covers(method, u)
			})
		}
		if allowed {
			out = append(out, line)
		}
	}
	return out
}

// checkSecrets finds config values with a secret that no line grants, or that a line reveals with a value for some callers
// only.
func checkSecrets(lines []Grant) error {
	for _, g := range lines {
		r, ok := g.rule.(*configRule)
		if !ok {
			continue
		}
		for _, key := range sortedKeys(r.secrets) {
			name := r.secrets[key]
			if slices.ContainsFunc(lines, func(o Grant) bool {
				return o.grantsSecret(name) && o.secret().Reveal && (len(o.Who) > 0 || o.secret().PerPrincipal)
			}) {
				return failf(g.Line, "config %q is the secret %q, which a line reveals to some callers or of each, and config is the same for all: leave reveal out, or take it out of config and read it with secrets/get", key, name)
			}
			if !slices.ContainsFunc(lines, func(o Grant) bool { return o.grantsSecret(name) }) {
				return failf(g.Line, "config %q is the secret %q, which no line grants: add secret: %s with to: an address", key, name, name)
			}
		}
	}
	return nil
}
