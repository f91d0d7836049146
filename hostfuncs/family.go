package hostfuncs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// family describes one kind of effect. The gate treats kinds differently only by these fields, so a new kind is a row
// of families, a form of a line in package grant, and the file of its host functions. The zero family is that of effects
// that every plugin may have, such as log messages.
type family struct {
	name string
	// acts are the effects in the words of denials, as examples for an operator.
	acts []string
	// explain decides about an effect in the words of a denial; false if the words are those of a different family.
	explain func(r *rules, act string) (x Explanation, ok bool, err error)
	// replayed effects take their outcome from the journal in a later run of the call, without a new decision. Of files
	// only answers that allow are journaled: denials are decided in each run.
	replayed bool
	// asksClient marks effects that may end the run of a call with a question to its client.
	asksClient bool
	// bindable effects have targets in which lines may bind arguments of the call.
	bindable bool
	// confirmable effects of an ask line may be confirmed by the caller.
	confirmable bool
	// standing answers of the operator are added to the grants of the call, and take effect before the next access.
	standing bool
	// paths marks targets that are paths of files: {roots} may be bound, and a value that a line rejected may lead to any
	// other path.
	paths bool
}

// families returns the table, in the order in which Explain tries them.
func families() []family {
	secrets := func(s *grant.Set, name string) grant.Decision { return revealed(s, name) }
	tools := func(s *grant.Set, name string) grant.Decision { return s.Tool(name, nil) }
	users := func(s *grant.Set) grant.Decision { return s.Elicit(nil) }
	stored := []string{"read a stored value", "store a value", "remove a stored value", "list stored values"}
	return []family{
		{name: "kv", acts: stored, explain: plain("kv", (*grant.Set).KV, stored...)},
		{name: "secret", acts: []string{"read the secret NAME"}, explain: named("secret", "read the secret ", secrets)},
		{name: "tools", acts: []string{"call TOOL"}, explain: named("tools", "call ", tools), replayed: true, bindable: true},
		{name: "sampling", acts: []string{"ask the client's model"}, explain: plain("sampling", (*grant.Set).Sampling, "ask the client's model"), asksClient: true},
		{name: "elicitation", acts: []string{"ask the client's user", "send the client's user to URL"},
			explain: either(plain("elicitation", users, "ask the client's user"), (*rules).explainSending), asksClient: true},
		{name: "roots", acts: []string{"list the client's roots"}, explain: plain("roots", (*grant.Set).Roots, "list the client's roots"), asksClient: true},
		{name: "fs", acts: []string{"read ~/work/a", "write ~/work/a", "list ~/work"}, explain: (*rules).explainFile,
			replayed: true, bindable: true, standing: true, paths: true},
		{name: "net", acts: []string{"GET https://example.com/x"}, explain: (*rules).explainRequest, replayed: true, bindable: true, confirmable: true},
	}
}

// familyTable returns the table by name.
func familyTable() map[string]family {
	all := map[string]family{}
	for _, f := range families() {
		all[f.name] = f
	}
	return all
}

// plain explains effects without a target.
func plain(family string, decide func(*grant.Set) grant.Decision, acts ...string) func(*rules, string) (Explanation, bool, error) {
	return func(r *rules, act string) (Explanation, bool, error) {
		if !slices.Contains(acts, act) {
			return Explanation{}, false, nil
		}
		return r.explain(effect{family: family, act: act, decide: decide}), true, nil
	}
}

// named explains effects on a name, which follows the verb.
func named(family, verb string, decide func(*grant.Set, string) grant.Decision) func(*rules, string) (Explanation, bool, error) {
	return func(r *rules, act string) (Explanation, bool, error) {
		name, ok := strings.CutPrefix(act, verb)
		if !ok {
			return Explanation{}, false, nil
		}
		return r.explain(effect{family: family, act: act, decide: func(s *grant.Set) grant.Decision { return decide(s, name) }}), true, nil
	}
}

// either tries the first form, then the second.
func either(first, second func(*rules, string) (Explanation, bool, error)) func(*rules, string) (Explanation, bool, error) {
	return func(r *rules, act string) (Explanation, bool, error) {
		if x, ok, err := first(r, act); ok || err != nil {
			return x, ok, err
		}
		return second(r, act)
	}
}

// explainSending explains an elicitation of a URL.
func (r *rules) explainSending(act string) (Explanation, bool, error) {
	text, ok := strings.CutPrefix(act, "send the client's user to ")
	if !ok {
		return Explanation{}, false, nil
	}
	u, err := egress.ParseURL(text, nil)
	if err != nil {
		return Explanation{}, false, nil
	}
	return r.explain(sendingTo(r, u)), true, nil
}

// explainRequest explains a request.
func (r *rules) explainRequest(act string) (Explanation, bool, error) {
	verb, rest := cutVerb(act)
	if !strings.Contains(rest, "://") || !grant.IsMethod(strings.ToUpper(verb)) {
		return Explanation{}, false, nil
	}
	u, err := egress.ParseURL(rest, nil)
	if err != nil {
		return Explanation{}, false, errors.New(asAskError(err).Message)
	}
	return r.explain(requestEffect(r, &egress.Request{Method: strings.ToUpper(verb), URL: u})), true, nil
}

// explainFile explains an access to a file, after its links.
func (r *rules) explainFile(act string) (Explanation, bool, error) {
	verb, path := cutVerb(act)
	op, ok := map[string]jail.Op{"read": jail.Read, "write": jail.Write, "list": jail.List}[verb]
	if !ok {
		return Explanation{}, false, nil
	}
	places := r.policy.host.places
	if rest, found := strings.CutPrefix(path, "~"); found && (rest == "" || rest[0] == '/') {
		path = filepath.Join(places.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return Explanation{}, false, fmt.Errorf("path %q begins neither with / nor with ~/: write the whole path", path)
	}
	l := &looking{paths: newPaths(r)}
	asked := verb + " " + l.shown(filepath.Clean(path))
	host, folder := l.lead(op, filepath.Clean(path))
	x := r.explain(l.effect(op, host))
	if !x.Allowed && x.Line == "" && op == jail.Read && folder && l.Visible(host, true) {
		x.Allowed, x.Hint, x.Reason = true, "", "only the names in it that lead to granted paths"
	}
	if x.Effect != asked {
		x.Effect, x.Leads = asked, x.Effect
	}
	return x, true, nil
}

func cutVerb(act string) (verb, rest string) {
	verb, rest, _ = strings.Cut(act, " ")
	return verb, strings.TrimSpace(rest)
}
