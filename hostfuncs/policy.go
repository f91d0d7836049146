package hostfuncs

import (
	"maps"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Plugin is what an operator says about one plugin.
type Plugin struct {
	Name   string // as the operator knows it; refusals name it
	Digest string // of its bytes; grants are bound to it
	// Grants is what it may do; nil is nothing.
	Grants *grant.Set
	// Config are its values beside those of config grants, and before them; names and values that
	// cannot be in an environment are left out, with a warning.
	Config map[string]string
}

// Policy is what one plugin may do. It never changes, and any number of gates share it; a new policy
// takes its place for the calls that begin later.
type Policy struct {
	host   *Host
	plugin Plugin
	env    []string
	net    *client
}

// Plugin makes the policy of one plugin.
func (h *Host) Plugin(p Plugin) *Policy {
	p.Config = maps.Clone(p.Config)
	policy := &Policy{host: h, plugin: p, net: newClient(h)}
	policy.env = policy.environment()
	h.add(policy)
	return policy
}

// Close closes the connections that no request uses. Gates that are open stay usable, so that a policy
// can be closed as soon as another has taken its place. It may be called again, or never.
func (p *Policy) Close() {
	p.host.remove(p)
	p.net.close()
}

// Name is the plugin's name.
func (p *Policy) Name() string { return p.plugin.Name }

// Grants is what the plugin may do.
func (p *Policy) Grants() *grant.Set { return p.plugin.Grants }
