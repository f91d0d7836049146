package oauth

import (
	"encoding/json"
	"strings"
)

// Metadata returns the protected resource metadata (RFC 9728), a JSON object.
func (r *Resource) Metadata() []byte {
	m := struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{Resource: r.url, Scopes: r.scopes, Methods: []string{"header"}, Name: "Sallyport"}
	for _, i := range r.issuers {
		m.Servers = append(m.Servers, i.URL)
	}
	raw, _ := json.Marshal(m) // strings have no errors
	return raw
}

// MetadataPaths returns the paths of the metadata: at the root, and with the path of the resource behind.
func (r *Resource) MetadataPaths() []string {
	return []string{wellKnown, wellKnown + strings.TrimSuffix(r.place.Path, "/")}
}

// Challenge returns the value of WWW-Authenticate for a refusal; nil is a request without a token.
func (r *Resource) Challenge(f *Failure) string {
	b := strings.Builder{}
	b.WriteString(`Bearer realm="sallyport"`)
	parameter := func(name, value string) {
		if value != "" {
			b.WriteString(", " + name + `="` + quotable(value) + `"`)
		}
	}
	scopes := r.scopes
	if f != nil {
		parameter("error", f.Code)
		parameter("error_description", f.Reason)
	}
	if f != nil && len(f.Scopes) > 0 {
		scopes = f.Scopes
	}
	parameter("scope", strings.Join(scopes, " "))
	parameter("resource_metadata", r.place.Scheme+"://"+r.place.Host+wellKnown+strings.TrimSuffix(r.place.EscapedPath(), "/"))
	return b.String()
}

// quotable replaces the characters that a parameter of RFC 6750 does not have.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, s)
}
