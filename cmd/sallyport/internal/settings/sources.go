package settings

import (
	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// sourcesKey is the top-level key of the policies of sources.
const sourcesKey = "sources"

// readSources reads the policies of sources:
//
//	sources:
//	  oci://ghcr.io/acme/**: {minisign: RWQ…}
//	  https://plugins.example.com/**: {minisign: [RWQ…, RWQ…]}
//	  oci://ghcr.io/lib/**: {require: {issuer: https://token.actions.githubusercontent.com, identity: https://github.com/lib/**}}
//	  oci://localhost:5000/**: unsigned
//	  "**": refuse
func readSources(root *strictyaml.Node) (rules []source.Rule, err error) {
	return rules, root.Each("the file", func(key, value *strictyaml.Node) error {
		if key.Text != sourcesKey {
			return nil
		}
		return value.Each(sourcesKey, func(pattern, policy *strictyaml.Node) error {
			if err := source.CheckPattern(pattern.Text); err != nil {
				return pattern.Errorf("%s: %q: %v", sourcesKey, pattern.Text, err)
			}
			p, err := readPolicy(policy)
			rules = append(rules, source.Rule{Pattern: pattern.Text, Policy: p})
			return err
		})
	})
}

// readPolicy reads the policy of one pattern.
func readPolicy(n *strictyaml.Node) (p source.Policy, err error) {
	if n.Kind != strictyaml.Mapping {
		text, err := n.Scalar(sourcesKey)
		switch {
		case err != nil:
			return p, err
		case text == "refuse":
			return source.Policy{Refuse: true}, nil
		case text != "unsigned":
			return p, n.Errorf("%s: want {minisign: KEY}, {require: {issuer: …, identity: …}}, unsigned or refuse, not %q", sourcesKey, text)
		}
		return p, nil
	}
	err = n.Each(sourcesKey, func(key, value *strictyaml.Node) error {
		switch key.Text {
		case "minisign":
			p.Keys, err = readKeys(value)
		case "require":
			p.Require, err = readIdentities(value)
		default:
			err = key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"minisign", "require"}))
		}
		return err
	})
	switch {
	case err != nil:
	case len(p.Keys) == 0 && len(p.Require) == 0:
		err = n.Errorf("%s: a key is missing: {minisign: RWQ…} or {require: {issuer: …, identity: …}}, or write unsigned", sourcesKey)
	case len(p.Keys) > 0 && len(p.Require) > 0:
		err = n.Errorf("%s: minisign and require are two policies: write one", sourcesKey)
	}
	return p, err
}

// readIdentities reads an identity of sigstore, or a list of them.
func readIdentities(n *strictyaml.Node) (all []source.Identity, err error) {
	if n.Kind != strictyaml.Sequence {
		one, err := readIdentity(n)
		return []source.Identity{one}, err
	}
	for _, item := range n.Items {
		one, err := readIdentity(item)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readIdentity reads {issuer: …, identity: …}.
func readIdentity(n *strictyaml.Node) (i source.Identity, err error) {
	err = n.Each("require", func(key, value *strictyaml.Node) (err error) {
		switch key.Text {
		case "issuer":
			i.Issuer, err = value.Scalar("issuer")
		case "identity":
			i.Name, err = value.Scalar("identity")
		default:
			err = key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"issuer", "identity"}))
		}
		return err
	})
	if err == nil {
		err = i.Check()
		if err != nil {
			err = n.Errorf("require: %v", err)
		}
	}
	return i, err
}

// readKeys reads a public key, or a list of them.
func readKeys(n *strictyaml.Node) (keys []minisign.Key, err error) {
	texts := []string{n.Text}
	if n.Kind == strictyaml.Sequence {
		if texts, err = n.Texts(sourcesKey); err != nil {
			return nil, err
		}
	}
	for _, text := range texts {
		k, err := minisign.ParseKey(text)
		if err != nil {
			return nil, n.Errorf("%s: %v", sourcesKey, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
