package hostfuncs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// tape records the effects of one call with the host's answers: of a plugin whose calls are recorded, and of a trial. A
// nil tape records nothing. Only the guest's goroutine uses it.
type tape struct {
	rules  *rules // of its call
	policy *Policy
	call   *Call
	// clock gives the guest time and random numbers that a trial repeats.
	clock *journal.Journal
	made  []recording.Exchange
	seen  map[string]bool // effects without an answer, which are recorded once
	read  contents
	size  int
	full  bool
	used  []bool // of the exchanges of the recorded call, in a trial
}

// recorded are the methods whose calls are recorded.
var recorded = [...]string{"tools/call", "prompts/get", "resources/read"}

// newTape returns the tape of a call; nil if it is neither recorded nor a trial.
func newTape(r *rules, j *journal.Journal) *tape {
	p, c := r.policy, r.call
	if c.Trial == nil && (p.plugin.Record <= 0 || p.host.options.Recordings == nil || c.DryRun || !slices.Contains(recorded[:], c.Method)) {
		return nil
	}
	t := &tape{rules: r, policy: p, call: c, clock: newClock(), seen: map[string]bool{}}
	switch {
	case c.Trial != nil:
		t.used = make([]bool, len(c.Trial.Exchanges))
		if clock, err := journal.Decode(c.Trial.Clock); err == nil {
			t.clock = clock
		}
	case j != nil:
		t.clock = j.Blank()
	}
	return t
}

func newClock() *journal.Journal {
	j := journal.New()
	_ = j.Bind([]byte("recorded")) // cannot fail: it is new
	return j
}

// settle gives the guest the clock and the random numbers of the tape, unless a journal does.
func (t *tape) settle(o *wasi.Options, journaled bool) {
	if t == nil || journaled {
		return
	}
	o.Now, o.Monotonic, o.Sleep, o.Random = t.clock.Now, t.clock.Monotonic, t.clock.Sleep, t.clock
	if t.call.Trial != nil {
		o.Sleep = func(d time.Duration) time.Duration {
			t.clock.Sleep(d)
			return 0
		}
	}
}

// reserve returns the room for one more answer, in bytes.
func (t *tape) reserve() int { return max(0, recording.MaxCall-t.size) }

// taken records an effect that ended with err, and returns err.
func (t *tape) taken(e *effect, err error) error {
	if t == nil || e.decide == nil {
		return err
	}
	var outcome []byte
	if e.entry != nil {
		outcome, _ = e.entry.encode(err)
	}
	t.add(e, outcome, err)
	return err
}

// add records an effect with its outcome. A redirect belongs to the request before it.
func (t *tape) add(e *effect, outcome []byte, err error) {
	if t == nil || e.decide == nil || e.entry == nil && e.family == string(grant.Net) {
		return
	}
	x := t.exchange(e)
	x.Outcome = t.clean(outcome)
	var ask *runtime.AskError
	x.Denied = errors.As(err, &ask) && ask.Kind == runtime.KindDenied
	var no *refusal
	x.Denied = x.Denied || errors.As(err, &no)
	t.put(x)
}

// put appends an exchange, within the bounds of a call.
func (t *tape) put(x recording.Exchange) {
	if x.Outcome == nil {
		key := fmt.Sprintf("%s %s %t %q", x.Family, x.Act, x.Denied, x.Request)
		if t.seen[key] {
			return
		}
		t.seen[key] = true
	}
	if t.call.Trial == nil {
		x.At = t.clock.CatchUp()
	}
	if t.size += x.Size(); t.size > recording.MaxCall || len(t.made) == recording.MaxExchanges {
		t.full = true
		return
	}
	t.made = append(t.made, x)
}

// exchange describes an effect, without values of secrets and without the placeholders of this process.
func (t *tape) exchange(e *effect) recording.Exchange {
	x := recording.Exchange{Family: e.family, Act: string(t.plain([]byte(e.act)))}
	switch {
	case e.web.body != nil:
		body, _ := e.web.body() // it was read before, or cannot be sent
		var head []byte
		for _, name := range slices.Sorted(maps.Keys(e.web.header)) {
			head = fmt.Appendf(head, "%s: %s\n", name, strings.Join(e.web.header[name], ", "))
		}
		x.Secrets = t.secrets(e, append(slices.Clone(head), body...))
		x.Request = t.plain(slices.Concat(head, []byte{'\n'}, body))
	case e.entry != nil:
		x.Request = t.plain(bytes.Join(e.entry.request, []byte{'\n'}))
	}
	return x
}

// secrets returns the names of the secrets that the host would insert into a request.
func (t *tape) secrets(e *effect, content []byte) (names []string) {
	method, address := cutVerb(e.act)
	u, err := egress.ParseURL(address, nil)
	if err != nil {
		return nil
	}
	for _, line := range t.rules.grants.SecretsFor(method, u) {
		held := bytes.Contains(content, []byte(t.policy.vault.Placeholder(line.Name))) || strings.Contains(u.RawQuery, t.policy.vault.Placeholder(line.Name))
		if (held || line.Text != "") && !slices.Contains(names, line.Name) {
			names = append(names, line.Name)
		}
	}
	return names
}

// plain removes the values of secrets, and names placeholders, which differ by process.
func (t *tape) plain(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	text = []byte(t.rules.redact(string(text)))
	for _, s := range t.policy.plugin.Grants.Secrets() {
		text = bytes.ReplaceAll(text, []byte(t.policy.vault.Placeholder(s.Name)), []byte("{secret "+s.Name+"}"))
	}
	return text
}

// clean is plain for an outcome, whose lengths are part of it.
func (t *tape) clean(outcome []byte) []byte {
	if len(outcome) == 0 {
		return outcome
	}
	switch outcome[0] {
	case keptResult, keptError:
		var dst []byte
		for rest := outcome; len(rest) > 0; {
			size, k := binary.Uvarint(rest[1:])
			if k <= 0 || size > uint64(len(rest)-1-k) {
				return nil
			}
			text := t.plain(rest[1+k : 1+k+int(size)])
			dst = append(binary.AppendUvarint(append(dst, rest[0]), uint64(len(text))), text...)
			rest = rest[1+k+int(size):]
		}
		return dst
	case keptFetch, keptCut:
		size, k := binary.Uvarint(outcome[1:])
		if k <= 0 || size > uint64(len(outcome)-1-k) {
			return nil
		}
		head := t.plain(outcome[1+k : 1+k+int(size)])
		dst := binary.AppendUvarint([]byte{outcome[0]}, uint64(len(head)))
		return append(append(dst, head...), t.plain(outcome[1+k+int(size):])...)
	}
	return outcome
}

// asked records a round of questions with its answers.
func (t *tape) asked(round []runtime.Question, answers []runtime.Answer) {
	if t == nil {
		return
	}
	x := t.questions(round)
	x.Outcome = t.clean(encodeAnswers(answers))
	t.put(x)
}

func (t *tape) questions(round []runtime.Question) recording.Exchange {
	return recording.Exchange{Family: "client", Act: "ask the client: " + roundFamily(round), Request: t.plain(roundText(round))}
}

// Keep records a call with its end, if its plugin's calls are recorded: its answer, or the error that ended it. A call
// that waits for answers is not over.
func (g *Gate) Keep(answer json.RawMessage, err error) {
	t := g.tape
	if t == nil || g.call.Trial != nil || errors.Is(err, ErrSuspended) || errors.Is(err, context.Canceled) {
		return
	}
	if t.full || len(answer) > recording.MaxCall {
		g.policy.host.options.Logger.Debug("a call is too large to be recorded", "plugin", g.policy.plugin.Name, "call", g.call.ID, g.call.Trace.Attr())
		return
	}
	c := t.ended(g, answer, err)
	if err := g.policy.host.options.Recordings.Put(&c, g.policy.plugin.Record); err != nil {
		g.policy.host.options.Logger.Warn("a call cannot be recorded", "plugin", g.policy.plugin.Name, "call", g.call.ID, "error", err, g.call.Trace.Attr())
	}
}

// Tried returns the trial as a call, with its end.
func (g *Gate) Tried(answer json.RawMessage, err error) recording.Call {
	c := g.tape.ended(g, answer, err)
	if len(answer) > recording.MaxCall {
		c.Answer, c.Failed = nil, cmp.Or(c.Failed, "its answer is larger than a recording holds")
	}
	if g.tape.full {
		c.Failed = cmp.Or(c.Failed, "it has more effects than a recording holds")
	}
	return c
}

// ended returns the call with its end.
func (t *tape) ended(g *Gate, answer json.RawMessage, err error) recording.Call {
	c := recording.Call{
		Plugin: t.policy.plugin.Name, Digest: t.policy.plugin.Digest, Time: time.Now(), Principal: t.call.Principal, Method: t.call.Method,
		Kind: t.call.Entry.Kind, Entry: t.call.Entry.Name, Params: t.plain(t.call.Params), Clock: t.clock.Blank().Append(nil),
		Exchanges: t.made, Files: t.kept(), Answer: g.Redact(t.plain(answer)),
	}
	if err != nil {
		c.Failed = string(t.plain([]byte(err.Error())))
	}
	return c
}
