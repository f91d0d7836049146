package settings

import (
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/transport/auth"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
)

// authKey is the top-level key of sign-in.
const authKey = "auth"

// readAuth reads how callers over HTTP sign in, nil if they do not:
//
//	auth:
//	  scopes: [tools:call]
//	  implied: {"files:admin": ["files:write"]}
//	  skew: 1m
//	  issuers:
//	    - issuer: https://id.example.com/realms/acme
//	      audience: https://tools.example.com/mcp
//	      groups: [realm_access, roles]
//	      introspection: {client: sallyport, secret: issuer-secret}
//
// dir is the folder of the file, for the paths in it.
func readAuth(root *strictyaml.Node, dir string) (*oauth.Options, error) {
	if root == nil {
		return nil, nil
	}
	key, section := root.Member(authKey)
	if key == nil {
		return nil, nil
	}
	o := new(oauth.Options)
	err := section.Each(authKey, func(key, value *strictyaml.Node) (err error) {
		switch key.Text {
		case "issuers":
			o.Issuers, err = readIssuers(value, dir)
		case "scopes":
			o.Scopes, err = value.Texts("auth.scopes")
		case "implied":
			o.Implied = map[string][]string{}
			err = value.Each("auth.implied", func(scope, narrower *strictyaml.Node) (err error) {
				o.Implied[scope.Text], err = narrower.Texts("auth.implied." + scope.Text)
				return err
			})
		case "skew":
			var text string
			if text, err = value.Scalar("auth.skew"); err == nil {
				if o.Skew, err = ParseDuration(text); err != nil {
					err = value.Errorf("auth.skew: %v", err)
				}
			}
		default:
			err = key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"issuers", "scopes", "implied", "skew"}))
		}
		return err
	})
	if err == nil {
		if problem := o.Check(); problem != nil {
			err = key.Errorf("auth: %v", problem)
		}
	}
	return o, err
}

func readIssuers(n *strictyaml.Node, dir string) (all []oauth.Issuer, err error) {
	if n.Kind != strictyaml.Sequence {
		return nil, n.Errorf("auth.issuers: want a list of {issuer: https://…}")
	}
	for _, item := range n.Items {
		one, err := readIssuer(item, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func readIssuer(n *strictyaml.Node, dir string) (i oauth.Issuer, err error) {
	if n.Kind != strictyaml.Mapping {
		return i, n.Errorf("auth.issuers: want {issuer: https://…}")
	}
	text := map[string]*string{"issuer": &i.URL, "name": &i.Name, "audience": &i.Audience, "jwks": &i.Keys}
	list := map[string]*[]string{"algorithms": &i.Algorithms, "groups": &i.Groups, "scopes": &i.Scopes}
	known := []string{"issuer", "name", "audience", "jwks", "algorithms", "groups", "scopes", "introspection"}
	return i, n.Each("auth.issuers", func(key, value *strictyaml.Node) (err error) {
		switch name := key.Text; {
		case text[name] != nil:
			*text[name], err = value.Scalar("auth.issuers." + name)
		case list[name] != nil:
			*list[name], err = value.Texts("auth.issuers." + name)
		case name == "introspection":
			i.Introspection, err = readIntrospection(value, dir)
		default:
			err = key.Errorf("unknown key %q%s", name, strictyaml.Hint(name, known))
		}
		return err
	})
}

func readIntrospection(n *strictyaml.Node, dir string) (*oauth.Introspection, error) {
	o, file := new(oauth.Introspection), ""
	text := map[string]*string{"url": &o.URL, "client": &o.Client, "secret": &file}
	if n.Kind != strictyaml.Mapping {
		return nil, n.Errorf("introspection: want {client: NAME, secret: FILE}")
	}
	err := n.Each("introspection", func(key, value *strictyaml.Node) (err error) {
		if text[key.Text] == nil {
			return key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"url", "client", "secret"}))
		}
		*text[key.Text], err = value.Scalar("introspection." + key.Text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if file == "" {
		return nil, n.Errorf("introspection: want {client: NAME, secret: FILE}")
	}
	if !filepath.IsAbs(file) && !strings.HasPrefix(file, "~/") {
		file = filepath.Join(dir, file)
	}
	path, err := absolute(file)
	o.Secret = func() (string, error) { return auth.ReadSecret(path) }
	return o, err
}
