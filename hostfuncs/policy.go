package hostfuncs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
)

// Plugin is the operator's configuration of one plugin.
type Plugin struct {
	Name   string // the operator's name for it, used in denials
	Digest string // of its bytes; grants are bound to it
	// Grants are its grants; nil grants nothing.
	Grants *grant.Set
	// Limits limit its use, and Classes that of some callers: the first class that a caller is in counts.
	Limits  Limits
	Classes []Class
	// Workspace is the absolute folder of {workspace}; empty is none.
	Workspace string
	// Config adds values to those of config grants, and overrides them. Names and values that an environment cannot
	// hold are dropped with a warning.
	Config map[string]string
	// Wants are its declared needs.
	Wants []Want
	// Frozen gives it clocks that advance only by sleeps, which return at once.
	Frozen bool
	// Seed seeds all random numbers, again for each call; empty takes random numbers of the system.
	Seed string

	// Learn records in the audit log the lines that its calls need; see receipt.Learnt.
	Learn bool
	// Record is the time for which its calls are recorded, see package recording; zero records none.
	Record time.Duration
	// Updates names the update policy under which the operator approved these bytes in advance, as repeated in
	// receipts; empty if only these bytes are approved.
	Updates string

	starting bool    // it is the policy for starting the plugin
	starts   *Policy // with starting: the policy of its calls
	warming  bool    // it is the policy for the plugin's own warm-up, after the start
	alone    bool    // it is the policy for a rehearsal, which asks the host for nothing
}

// Policy is the access policy of one plugin. It is immutable and shared by any number of gates. A new policy replaces
// it for later calls.
type Policy struct {
	host   *Host
	plugin Plugin
	args   []string // the command line of a guest that is no program
	env    []string
	asks   bool // it may ask the client
	net    *egress.Client
	vault  *secret.Vault
	limits []classLimits // by class
	quota  *quota
	// secrets are the config values that represent secrets.
	secrets map[string]string
	wants   []Want
	// confirms is set if lines ask for a confirmation.
	confirms bool
	varies   bool // the grants depend on the call
	divided  bool // lines are for some callers
	owned    bool // callers have secrets of their own
	// written are the lines of plugin.Grants, in their order, before the workspace was bound.
	written []grant.Grant
}

// Plugin returns the policy of one plugin.
func (h *Host) Plugin(p Plugin) *Policy {
	p.Config = maps.Clone(p.Config)
	if real, err := filepath.EvalSymlinks(p.Workspace); err == nil && p.Workspace != "" {
		p.Workspace = real // resolved once: later changes of the link have no effect
	}
	written := p.Grants.Lines()
	p.Grants = p.Grants.At(p.Name, p.Workspace)
	policy := &Policy{host: h, plugin: p, net: egress.NewClient(h.options.Web), vault: secret.NewVault(h.places.Home, h.options.Seed, p.Name, h.Secrets())}
	policy.limits = limitsOf(p.Limits, p.Classes)
	policy.quota = newQuota(p.Name, policy.limits)
	policy.varies, policy.divided, policy.written = p.Grants.Lines().Varies(), p.Grants.Lines().NamesCallers(), written
	policy.owned = slices.ContainsFunc(p.Grants.Secrets(), func(s grant.Secret) bool { return s.PerPrincipal })
	policy.args, policy.env = []string{p.Name}, policy.environment()
	policy.wants = placed(p)
	policy.confirms = slices.ContainsFunc(p.Grants.Lines(), func(g grant.Grant) bool { return g.Ask })
	policy.asks = policy.confirms || h.asks(p.Grants)
	h.protected.hide(SecretFiles(p.Grants, h.places.Home))
	h.add(policy)
	return policy
}

// at binds a line to this plugin.
func (p *Policy) at(line grant.Grant) []grant.Grant {
	return grant.NewSet(p.plugin.Grants.Lines().ResolveAs(line)).At(p.plugin.Name, p.plugin.Workspace).Lines()
}

// Close closes idle connections. Open gates stay usable, so that a policy can be closed as soon as it is replaced.
// Close is idempotent and optional.
func (p *Policy) Close() {
	p.host.remove(p)
	p.net.Close()
}

// asks reports whether a line lets a plugin ask the client.
func (h *Host) asks(s *grant.Set) bool {
	lines := s.Lines()
	return lines.NeedsRoots() || slices.ContainsFunc(lines, func(g grant.Grant) bool {
		return !g.Deny && h.effects.families[string(g.Family)].asksClient
	})
}

// Bind ties the journal of a call to this plugin, its grants and its configuration; a nil journal is ignored. The
// error is journal.ErrOther if the journal is tied to different ones.
func (p *Policy) Bind(j *journal.Journal) error {
	if j == nil || !p.asks && !j.Bound() && !j.Kept() {
		return nil
	}
	return j.Bind(p.Terms())
}

// Terms returns a digest of this plugin, its grants and its configuration.
func (p *Policy) Terms() []byte {
	h := sha256.New()
	for _, text := range []string{p.plugin.Name, p.plugin.Digest, p.plugin.Grants.String(), strings.Join(p.env, "\x00")} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return h.Sum(nil)[:16]
}

// Name returns the plugin's name.
func (p *Policy) Name() string { return p.plugin.Name }

// Grants returns the plugin's grants.
func (p *Policy) Grants() *grant.Set { return p.plugin.Grants }

// Secrets returns the store of secrets that the operator set by name.
func (h *Host) Secrets() secret.Kept {
	if h.options.State == "" {
		return secret.Kept{}
	}
	return secret.Kept{Dir: filepath.Join(h.options.State, "secrets")}
}
