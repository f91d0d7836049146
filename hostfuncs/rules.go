package hostfuncs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// rules decides about the effects of one call by the plugin's policy. Only the guest's goroutine uses it.
type rules struct {
	policy  *Policy
	call    *Call
	session *session // asked for its roots
	replay  *replay
	grants  *grant.Set // bound to this call
	vault   *secret.Vault
}

// bind binds the plugin's grants to the call.
func (r *rules) bind() {
	r.grants = r.policy.plugin.Grants
	if r.policy.varies {
		r.grants = r.bound(r.grants)
	}
	r.grants = r.call.Chain.bound(r.grants)
	if r.vault = r.policy.vault; r.policy.owned {
		r.vault = r.vault.For(r.call.Principal)
	}
}

// redact removes the values of the plugin's secrets from a text, and those of its caller.
func (r *rules) redact(text string) string { return r.vault.Redactor().String(text) }

// bound binds the values of the call in a set.
func (r *rules) bound(s *grant.Set) *grant.Set { return s.Bind(r.values()) }

func (r *rules) caller() identity.Identity { return identity.Of(r.call.Principal, r.call.Roles) }

// values returns the values that the call binds in grants.
func (r *rules) values() grant.Call {
	return grant.Call{
		Entry: r.call.Entry, Caller: r.caller(), Values: r.call.Values, Home: r.policy.host.places.Home,
		URL: func(text string) (*url.URL, error) { return egress.ParseURL(text, nil) },
	}
}

// forbidden returns a reason for which no grant allows an effect, empty if there is none.
func (r *rules) forbidden(e effect) string {
	switch {
	case e.changes && r.call.ReadOnly:
		return "the tool says of itself that it changes nothing"
	case e.forbid != nil:
		return e.forbid()
	}
	return ""
}

// check evaluates the policy.
func (r *rules) check(e effect) (grant.Decision, *refusal) {
	if reason := r.forbidden(e); reason != "" {
		return grant.Decision{}, &refusal{reason: reason, final: true}
	}
	if e.decide == nil {
		return grant.Decision{Allowed: true}, nil
	}
	if r.policy.plugin.starting {
		return grant.Decision{}, &refusal{reason: "nothing is granted while a plugin starts, only in its calls", final: true}
	}
	d := e.decide(r.grants)
	if !d.Allowed && d.Grant == nil && r.askRoots(r.kind(e)) {
		d = e.decide(r.grants)
	}
	if d.Allowed {
		return d, r.limited(r.beyond(e, d))
	}
	open := r.unfilled(e, d)
	if open == "" && e.near != nil {
		open = e.near(d)
	}
	reason := reasonOf(d) + open
	return d, r.limited(&refusal{reason: reason, line: r.suggested(e, d)})
}

// limited returns a denial whose line is that of forCaller; nil is none.
func (r *rules) limited(no *refusal) *refusal {
	if no == nil || no.line == "" || !r.policy.divided {
		return no
	}
	own := *no
	own.line = r.forCaller(no.line)
	return &own
}

// forCaller returns a suggested line for this caller alone if the operator distinguishes the callers of the plugin, which
// must not widen the rights of others. Commands of the operator get the line for all.
func (r *rules) forCaller(line string) string {
	if line == "" || !r.policy.divided || r.call.Principal == "cli" {
		return line
	}
	g, err := grant.ParseLine(line)
	if err == nil {
		g, err = g.ForCallers(r.call.Principal)
	}
	if err != nil {
		return ""
	}
	return g.String()
}

// suggested returns the line that would allow a denied effect. It is empty if none would, and for targets that are
// never suggested, such as cloud metadata addresses.
func (r *rules) suggested(e effect, d grant.Decision) string {
	if no := r.beyond(e, grant.Decision{}); no != nil && d.Suggest != "" {
		return no.line
	}
	return d.Suggest
}

// beyond returns the denial of an effect that a line allows, nil if there is none.
func (r *rules) beyond(e effect, d grant.Decision) *refusal {
	if e.web.reach == nil {
		return nil
	}
	return e.web.reach(d)
}

func reasonOf(d grant.Decision) string {
	switch {
	case d.Beyond && d.SpellOut:
		return "no line of max_grants spells it out"
	case d.Beyond:
		return "max_grants does not reach it"
	case d.SpellOut:
		return "no grant spells it out"
	case d.Grant == nil:
		return "no grant allows it"
	case d.Ask:
		return lineOf(d.Grant) + " asks for a confirmation"
	}
	if d.Misread != "" {
		return lineOf(d.Grant) + " denies it, " + d.Misread
	}
	return lineOf(d.Grant) + " denies it"
}

func lineOf(g *grant.Grant) string {
	if g.Line == 0 {
		return "a grant"
	}
	return fmt.Sprintf("line %d", g.Line)
}

// announced returns the want that covers an effect, under the ceilings of the call.
func (r *rules) announced(e effect) (Want, bool) {
	decide := e.decide
	if e.announced != nil {
		decide = e.announced
	}
	i := slices.IndexFunc(r.policy.wants, func(w Want) bool {
		set := r.bound(w.Grants)
		for _, c := range r.grants.Ceilings() {
			set = set.Under(c)
		}
		d := decide(set)
		return (d.Allowed || d.Ask) && (d.Named || e.web.inside == nil || !e.web.inside())
	})
	if i < 0 {
		return Want{}, false
	}
	return r.policy.wants[i], true
}

// unfilled explains a denial by the grant that would cover the effect if the call bound its value: ": {args.x} of
// line 7 is not filled, since …". It is empty without such a grant. If no fs line remains, a value that an fs line
// rejected is named for any file effect: a plugin turns ../x into a path outside the line.
func (r *rules) unfilled(e effect, d grant.Decision) string {
	if !r.policy.varies || d.Grant != nil || d.Beyond || d.SpellOut {
		return ""
	}
	all := r.policy.plugin.Grants.Lines().Unfilled(r.values())
	i := slices.IndexFunc(all, func(u grant.Unfilled) bool {
		would := e.decide(u.Open)
		return would.Allowed || would.Ask
	})
	if i < 0 && r.kind(e).paths && !slices.ContainsFunc(r.grants.Lines(), func(l grant.Grant) bool { return l.Family == grant.FS && !l.Deny }) {
		i = slices.IndexFunc(all, func(u grant.Unfilled) bool { return u.Family == grant.FS && u.Given })
	}
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(": %s of %s is not filled, since %s", all[i].Binding, lineOf(&grant.Grant{Line: all[i].Line}), r.redact(printable(all[i].Why)))
}

// askRoots binds {roots} when no other line allows a file effect, and reports whether any line needed it. The client
// is asked once per call, and only if it is local: folders of other machines do not apply here.
func (r *rules) askRoots(f family) bool {
	if !f.paths || !r.grants.Lines().NeedsRoots() {
		return false
	}
	var folders []string
	if r.session.local() {
		folders = r.rootFolders()
	}
	r.grants = r.grants.WithRoots(folders)
	return true
}

// rootFolders asks the client for its roots, and returns none without an answer. If the answer comes with a replay of
// the call, the guest is aborted here.
func (r *rules) rootFolders() []string {
	a := r.replay.round(r.replay.life.until(), []runtime.Question{{Method: "roots/list", Params: json.RawMessage("{}")}}, r.session.ask)[0]
	var end *runtime.EndError
	if errors.As(a.Err, &end) {
		runtime.Abort(a.Err)
	}
	if a.Err != nil {
		return nil
	}
	answer, err := acceptRoots(nil, a.Result)
	if err != nil {
		return nil
	}
	var folders []string
	for s := jsonraw.ScanArray(jsonraw.Get(answer, "roots")); s.Next(); {
		uri, _ := jsonraw.String(jsonraw.Get(s.Value, "uri"))
		if folder, ok := rootFolder(uri); ok {
			folders = append(folders, folder)
			if real, err := filepath.EvalSymlinks(filepath.FromSlash(folder)); err == nil && real != filepath.FromSlash(folder) {
				folders = append(folders, real) // decisions are about the resolved path
			}
		}
	}
	return folders
}

// rootFolder returns the absolute path of a file:// URL of this machine.
func rootFolder(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // /C:/work
		path = path[1:]
	}
	return path, filepath.IsAbs(filepath.FromSlash(path))
}

// kind returns the family of an effect.
func (r *rules) kind(e effect) family { return r.policy.host.effects.families[e.family] }

// kindOf returns the family of a line.
func (r *rules) kindOf(f grant.Family) family { return r.policy.host.effects.families[string(f)] }

// lines returns the grants of an answer, bound to the call: those of the matching want, or one plain line.
func (r *rules) lines(line string) []grant.Grant {
	for _, w := range r.policy.wants {
		if w.line() == line {
			return r.bound(w.Grants).Lines()
		}
	}
	g, err := grant.ParseLine(line)
	if err != nil {
		return nil
	}
	return r.bound(grant.NewSet(r.policy.at(g.ForAll())...)).Lines() // the answer is for this caller
}
