package hostfuncs

import (
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// replayRule is the treatment of an effect in a later run of its call.
type replayRule int

const (
	replayAgain    replayRule = iota // decided and performed again
	replayObserved                   // performed again, with the same outcome
	replayRecorded                   // not performed again: its outcome comes from the journal
	replaySilent                     // not performed again, and without an outcome
)

// family describes one kind of effect. The gate treats kinds differently only by these fields, so a new kind is a row
// of families, the file of its host functions and, if no existing line can express it, a form of a line in package
// grant.
type family struct {
	name string
	// methods are its host functions, by name.
	methods map[string]method
	// questions are its host functions that ask the client, by name.
	questions map[string]question
	// acts are the effects in the words of denials, as examples for an operator.
	acts []string
	// explain decides about an effect in the words of a denial; false if the words are those of a different family. It
	// is nil for effects that every plugin may have.
	explain func(r *rules, act string) (x Explanation, ok bool, err error)
	// replay is the treatment of its effects in a later run of the call.
	replay replayRule
	// atCommit marks changes that are held back in the call until its commit, also in a dry run.
	atCommit bool
	// stays marks effects that touch nothing outside of the plugin's own files, keys and values: a trial performs them.
	// All others have the recorded outcome there, or none.
	stays bool
	// held completes the error for an effect that a dry run holds back; empty is "not performed".
	held string
	// asksClient marks effects that may end the run of a call with a question to its client.
	asksClient bool
	// bindable effects have targets in which lines may bind arguments of the call.
	bindable bool
	// confirmable effects of an ask line may be confirmed by the caller.
	confirmable bool
	// standing answers of the operator are added to the grants of the call, and take effect before the next access. Only
	// answers that allow are journaled: denials are decided in each run.
	standing bool
	// paths marks targets that are paths of files: {roots} may be bound, and a value that a line rejected may lead to any
	// other path.
	paths bool
}

// families returns the table, in the order in which Explain tries them.
func families() []family {
	return []family{
		keyFamily(), secretFamily(), toolFamily(), resourceFamily(), samplingFamily(), elicitationFamily(), rootsFamily(), fileFamily(), webFamily(),
		logFamily(), progressFamily(), listFamily(), clientFamily(), callerFamily(),
	}
}

// effects is the table of families, by the names that are looked up. It never changes.
type effects struct {
	rows      []family
	families  map[string]family
	methods   map[string]method
	questions map[string]question
}

func newEffects(rows []family) *effects {
	t := &effects{rows: rows, families: map[string]family{}, methods: map[string]method{}, questions: map[string]question{}}
	for _, f := range rows {
		t.families[f.name] = f
		maps.Copy(t.methods, f.methods)
		maps.Copy(t.questions, f.questions)
		for name := range f.questions {
			t.methods[name] = asked(name)
		}
	}
	return t
}

// Methods returns the names of all host functions, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(newEffects(families()).methods)) }

// given decides by the lines of a family that state only limits.
func given(f grant.Family) func(*grant.Set) grant.Decision {
	return func(s *grant.Set) grant.Decision { return s.Given(f) }
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

func cutVerb(act string) (verb, rest string) {
	verb, rest, _ = strings.Cut(act, " ")
	return verb, strings.TrimSpace(rest)
}
