package hostfuncs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/quota"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/hostfuncs/vault"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
)

// Plugin is what an operator says about one plugin.
type Plugin struct {
	Name   string // as the operator knows it; refusals name it
	Digest string // of its bytes; grants are bound to it
	// Grants is what it may do; nil is nothing.
	Grants *grant.Set
	// Limits bound how much it is used.
	Limits Limits
	// Workspace is the absolute folder that {workspace} stands for; empty is none.
	Workspace string
	// Config are its values beside those of config grants, and before them; names and values that
	// cannot be in an environment are left out, with a warning.
	Config map[string]string
	// Wants is what it announced.
	Wants []Want
	// Frozen has clocks that stand still: a sleep takes no time and moves them.
	Frozen bool
	// Seed, unless it is empty, is what all random numbers are made of, for each call anew.
	Seed string

	// Learn notes in the audit log which lines its calls need; see Learnt.
	Learn bool
	// Updates says which bytes the operator approved before they were there, as receipts repeat it; empty is
	// none but these.
	Updates string

	starting bool // it is the policy under which the plugin starts
}

// Policy is what one plugin may do. It never changes, and any number of gates share it; a new policy
// takes its place for the calls that begin later.
type Policy struct {
	host   *Host
	plugin Plugin
	env    []string
	asks   bool // it may ask the client something
	net    *web.Client
	vault  *vault.Vault
	quota  *quota.Quota
	// secrets are the config values that stand for secrets.
	secrets map[string]string
	wants   []Want
	// confirms says that lines ask for a confirmation.
	confirms bool
	varies   bool // the grants differ from call to call
	// written are the lines of plugin.Grants, in their order, before the workspace was filled in.
	written []grant.Grant
}

// Plugin makes the policy of one plugin.
func (h *Host) Plugin(p Plugin) *Policy {
	p.Config = maps.Clone(p.Config)
	if real, err := filepath.EvalSymlinks(p.Workspace); err == nil && p.Workspace != "" {
		p.Workspace = real // the folder that the operator named, whatever its name leads to later
	}
	written := p.Grants.Grants()
	p.Grants = p.Grants.At(p.Name, p.Workspace)
	policy := &Policy{host: h, plugin: p, net: web.NewClient(h.web), vault: vault.New(h.places.Home, h.seed, p.Name, h.Secrets()), quota: quota.New(p.Name, p.Limits.used())}
	policy.varies, policy.written = p.Grants.Varies(), written
	policy.env = policy.environment()
	policy.wants = placed(p)
	policy.confirms = slices.ContainsFunc(p.Grants.Grants(), func(g grant.Grant) bool { return g.Ask })
	policy.asks = policy.confirms || asks(p.Grants)
	h.hide(p.Grants)
	h.add(policy)
	return policy
}

// at is a line as it holds for this plugin.
func (p *Policy) at(line grant.Grant) []grant.Grant {
	return grant.NewSet(line).At(p.plugin.Name, p.plugin.Workspace).Grants()
}

// Close closes the connections that no request uses. Gates that are open stay usable, so that a policy
// can be closed as soon as another has taken its place. It may be called again, or never.
func (p *Policy) Close() {
	p.host.remove(p)
	p.net.Close()
}

// asks reports whether a line lets a plugin ask the client something.
func asks(s *grant.Set) bool {
	return s.NeedsRoots() || slices.ContainsFunc(s.Grants(), func(g grant.Grant) bool {
		return !g.Deny && (g.Family == grant.Elicitation || g.Family == grant.Sampling || g.Family == grant.Roots)
	})
}

// Bind ties the journal of a call to this plugin under these grants and this configuration; nil is no
// journal. The error is journal.ErrOther if it was kept under others.
func (p *Policy) Bind(j *journal.Journal) error {
	if j == nil || !p.asks && !j.Bound() && !j.Kept() {
		return nil
	}
	return j.Bind(p.Terms())
}

// Terms tell this plugin under these grants and this configuration from every other.
func (p *Policy) Terms() []byte {
	h := sha256.New()
	for _, text := range []string{p.plugin.Name, p.plugin.Digest, p.plugin.Grants.String(), strings.Join(p.env, "\x00")} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return h.Sum(nil)[:16]
}

// Name is the plugin's name.
func (p *Policy) Name() string { return p.plugin.Name }

// Grants is what the plugin may do.
func (p *Policy) Grants() *grant.Set { return p.plugin.Grants }

// Secrets is where secrets are that a person set by name.
func (h *Host) Secrets() secret.Kept {
	if h.state == "" {
		return secret.Kept{}
	}
	return secret.Kept{Dir: filepath.Join(h.state, "secrets")}
}
