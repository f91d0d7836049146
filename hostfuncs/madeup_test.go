package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// This file adds a family of effects, as a contributor would: its host function, its decision by lines of an existing
// kind, and its row. The tests show that pass applies everything else to it.

// tower counts how often each bell was rung.
type tower map[string]int

// family is the row of the made-up family.
func (t tower) family() family {
	return family{
		name: "bell", acts: []string{"ring the bell NAME"},
		explain: named("bell", "ring the bell ", mayRing),
		methods: map[string]method{"bell/ring": t.ring},
		replay:  replayRecorded, confirmable: true, bindable: true,
	}
}

// mayRing decides on ringing a bell: each bell has an address, and a net line allows posting to it.
func mayRing(s *grant.Set, name string) grant.Decision {
	u, err := urlnorm.URL(&url.URL{Scheme: "https", Host: "bells.example", Path: "/" + name})
	if err != nil {
		return grant.Decision{}
	}
	return s.Net("POST", u)
}

// ring serves bell/ring {name} → {rung}.
func (t tower) ring(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (result json.RawMessage, err error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	err = g.pass(ctx, effect{
		family: "bell", act: "ring the bell " + name, target: name, changes: true, intent: "ringing the bell " + name,
		decide: func(s *grant.Set) grant.Decision { return mayRing(s, name) },
		entry:  answerEntry("bell/ring", params, &result),
		sends:  func(grant.Decision) (int64, error) { return int64(len(params)), nil },
		do: func(context.Context, grant.Decision) error {
			t[name]++
			result = json.RawMessage(`{"rung":true}`)
			return nil
		},
	})
	return result, err
}

const (
	ringLobby = `{"name":"lobby"}`
	lobbyLine = "net: POST https://bells.example/lobby?"
	towerLine = "net: POST https://bells.example/tower?"
)

// ringer is the client of a call, which confirms each question and keeps the intents.
type ringer struct {
	asked, intents []string
}

func (r *ringer) Progress(context.Context, json.RawMessage) {}

func (r *ringer) Message(context.Context, json.RawMessage) {}

func (r *ringer) Ask(_ context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	answers := make([]runtime.Answer, len(round))
	for i, q := range round {
		r.asked = append(r.asked, string(q.Params))
		answers[i].Result = json.RawMessage(`{"action":"accept","content":{}}`)
	}
	return answers, nil
}

func (r *ringer) Intends(what string) error {
	r.intents = append(r.intents, what)
	return nil
}

func (r *ringer) Recants(string) {}

// bellGate opens a gate for a plugin with a made-up family.
func bellGate(t *testing.T, bells tower, o Options, p Plugin, c Call, lines ...string) *Gate {
	t.Helper()
	o.State = t.TempDir()
	h := newHost(&o, append(families(), bells.family()))
	t.Cleanup(h.Close)
	p.Name, p.Digest, p.Grants = "p", "sha256:1", grant.NewSet()
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		p.Grants = p.Grants.With(g)
	}
	policy := h.Plugin(p)
	if err := policy.Bind(c.Journal); err != nil {
		t.Fatal(err)
	}
	c.ID, c.Method, c.Principal = "c1", "tools/call", "stdio:1"
	g := policy.NewGate(c)
	t.Cleanup(g.Close)
	return g
}

func wantError(t *testing.T, err error, kind runtime.Kind, message, hint string) {
	t.Helper()
	var ask *runtime.AskError
	if !errors.As(err, &ask) || ask.Kind != kind || ask.Message != message || ask.Hint != hint {
		t.Errorf("got  %+v\nwant %s: %s [%s]", err, kind, message, hint)
	}
}

func TestFamilies_madeUpEffectIsDeniedByDefault(t *testing.T) {
	bells := tower{}
	g := bellGate(t, bells, Options{}, Plugin{}, Call{})
	_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	wantError(t, err, runtime.KindDenied, `plugin "p" may not ring the bell lobby: no grant allows it`, lobbyLine)
	if len(bells) != 0 {
		t.Errorf("got %v rung, want none", bells)
	}
}

func TestFamilies_madeUpEffectOfReadOnlyToolIsDenied(t *testing.T) {
	bells := tower{}
	g := bellGate(t, bells, Options{}, Plugin{}, Call{ReadOnly: true}, lobbyLine)
	_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	wantError(t, err, runtime.KindDenied, `plugin "p" may not ring the bell lobby: the tool says of itself that it changes nothing`, "")
	if len(bells) != 0 {
		t.Errorf("got %v rung, want none", bells)
	}
}

func TestFamilies_madeUpEffectIsHeldBackInDryRun(t *testing.T) {
	bells := tower{}
	g := bellGate(t, bells, Options{}, Plugin{}, Call{DryRun: true}, lobbyLine)
	_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	wantError(t, err, runtime.KindUnavailable, "dry run: ring not performed", "")
	if got := g.Receipt(); !slices.Equal(got.Would, []string{"ring the bell lobby"}) || got.WouldCounts["ring"] != 1 || len(bells) != 0 {
		t.Errorf("got %q, %v, %v rung, want the ring told and none rung", got.Would, got.WouldCounts, bells)
	}
}

func TestFamilies_madeUpEffectIsReplayedFromJournal(t *testing.T) {
	bells := tower{}
	j := journal.New()
	lines := []string{lobbyLine, "roots"}
	for run := range 2 {
		g := bellGate(t, bells, Options{}, Plugin{}, Call{Journal: j}, lines...)
		result, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
		if string(result) != `{"rung":true}` || err != nil || bells["lobby"] != 1 {
			t.Errorf("run %d: got %s, %v, rung %d times, want once", run+1, result, err, bells["lobby"])
		}
		var again error
		if j, again = journal.Decode(j.Append(nil)); again != nil {
			t.Fatalf("journal: got %v, want it decoded", again)
		}
	}
}

func TestFamilies_madeUpEffectIsDescribedBeforeItHappens(t *testing.T) {
	client := &ringer{}
	j := journal.New()
	g := bellGate(t, tower{}, Options{}, Plugin{}, Call{Client: client, Journal: j}, lobbyLine, "roots")
	if _, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil); err != nil {
		t.Error(err)
	}
	want := []string{"ringing the bell lobby"}
	if !slices.Equal(client.intents, want) || !slices.Equal(j.Done(), want) {
		t.Errorf("got %q, and %q in the journal, want %q", client.intents, j.Done(), want)
	}
}

func TestFamilies_madeUpEffectEndsAtQuota(t *testing.T) {
	bells := tower{}
	g := bellGate(t, bells, Options{}, Plugin{Limits: Limits{Sent: 20}}, Call{}, "net: POST https://bells.example/*")
	if _, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil); err != nil {
		t.Error(err)
	}
	_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	wantError(t, err, runtime.KindLimit, "the call sends more than 20 bytes (limits.sent)", "")
	if bells["lobby"] != 1 {
		t.Errorf("got %d times rung, want once", bells["lobby"])
	}
}

// The traffic of a call has the limits of its caller's class, and the error names the key that set them.
func TestFamilies_madeUpEffectEndsAtQuotaOfItsClass(t *testing.T) {
	who := func(name string) identity.Who {
		w, err := identity.ParseWho([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	p := Plugin{Limits: Limits{Sent: 1}, Classes: []Class{{who("group:ops"), Limits{Sent: 20}}, {who("group:dev"), Limits{Sent: 2}}, {who("group:web"), Limits{Received: 9}}}}
	for _, c := range []struct {
		groups []string
		rings  int
		want   string
	}{
		{[]string{"dev", "ops"}, 1, "the call sends more than 20 bytes (limits.for.sent)"},
		{[]string{"dev"}, 0, "the call sends more than 2 bytes (limits.for.sent)"},
		{[]string{"web"}, 0, "the call sends more than 1 bytes (limits.sent)"},
		{nil, 0, "the call sends more than 1 bytes (limits.sent)"},
	} {
		bells := tower{}
		g := bellGate(t, bells, Options{}, p, Call{Roles: identity.Roles{Groups: c.groups}}, "net: POST https://bells.example/*")
		var err error
		for range 2 {
			_, err = g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
		}
		wantError(t, err, runtime.KindLimit, c.want, "")
		if bells["lobby"] != c.rings {
			t.Errorf("%s: got %d times rung, want %d", c.groups, bells["lobby"], c.rings)
		}
	}
}

func TestFamilies_madeUpEffectIsConfirmed(t *testing.T) {
	for name, j := range map[string]*journal.Journal{"plain": nil, "with a journal": journal.New()} {
		bells, client := tower{}, &ringer{}
		g := bellGate(t, bells, Options{}, Plugin{}, Call{Client: client, Journal: j}, lobbyLine+" {ask: true}")
		_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
		if err != nil || bells["lobby"] != 1 || len(client.asked) != 1 || !strings.Contains(client.asked[0], "may plugin p ring the bell lobby?") {
			t.Errorf("%s: got %v, %v rung, asked %q, want one question and one ring", name, err, bells, client.asked)
		}
	}
}

func TestFamilies_madeUpEffectIsInReceiptAndAuditLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	log := audit.New(dir, audit.Options{})
	g := bellGate(t, tower{}, Options{Audit: log}, Plugin{}, Call{}, lobbyLine)
	for _, name := range []string{"lobby", "lobby", "tower"} {
		_, _ = g.Ask(t.Context(), "bell/ring", json.RawMessage(`{"name":"`+name+`"}`), nil)
	}
	r := g.Receipt()
	if len(r.Effects) != 1 || r.Effects[0].Family != "bell" || r.Effects[0].Target != "lobby" || r.Effects[0].Count != 2 {
		t.Errorf("got effects %+v, want two rings of lobby", r.Effects)
	}
	if len(r.Denials) != 1 || r.Denials[0].Effect != "ring the bell tower" || r.Denials[0].Hint != towerLine {
		t.Errorf("got denials %+v, want one of tower with its line", r.Denials)
	}
	g.Close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	want := `"effects":[{"family":"bell","target":"lobby","count":2}]`
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	found := slices.ContainsFunc(files, func(name string) bool {
		text, _ := os.ReadFile(name)
		return strings.Contains(string(text), want)
	})
	if err != nil || !found {
		t.Errorf("got no line with %s in %q, %v", want, files, err)
	}
}

func TestFamilies_madeUpEffectIsLearned(t *testing.T) {
	g := bellGate(t, tower{}, Options{}, Plugin{Learn: true}, Call{}, towerLine)
	for _, name := range []string{"lobby", "tower"} {
		_, _ = g.Ask(t.Context(), "bell/ring", json.RawMessage(`{"name":"`+name+`"}`), nil)
	}
	got := g.Receipt().Learnt
	if len(got) != 2 || got[0].Line != lobbyLine || got[0].Refused != 1 || got[1].Line != towerLine || got[1].Used != 1 {
		t.Errorf("got %+v, want a denied line for lobby and a used one for tower", got)
	}
}

func TestFamilies_madeUpEffectIsLearnedNoBroaderThanNeeded(t *testing.T) {
	g := bellGate(t, tower{}, Options{}, Plugin{Learn: true}, Call{}, "net: POST https://bells.example/*")
	_, _ = g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	if got := g.Receipt().Learnt; len(got) != 1 || got[0].Line != lobbyLine || got[0].Used != 1 {
		t.Errorf("got %+v, want the line of lobby", got)
	}
}

func TestFamilies_madeUpEffectIsExplained(t *testing.T) {
	p := bellGate(t, tower{}, Options{}, Plugin{}, Call{}, towerLine).policy
	for act, want := range map[string]Explanation{
		"ring the bell tower": {Effect: "ring the bell tower", Line: towerLine, Allowed: true},
		"ring the bell lobby": {Effect: "ring the bell lobby", Reason: "no grant allows it", Hint: lobbyLine},
	} {
		if got, err := p.Explain(Call{}, act); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", act, got, err, want)
		}
	}
}

// A trial does not perform an effect of a family unless its row says that it stays inside.
func TestMadeUp_isNotPerformedInATrial(t *testing.T) {
	bells := tower{}
	g := bellGate(t, bells, Options{}, Plugin{}, Call{DryRun: true, Trial: &recording.Call{}}, lobbyLine)
	_, err := g.Ask(t.Context(), "bell/ring", json.RawMessage(ringLobby), nil)
	wantError(t, err, runtime.KindUnavailable, "dry run: ring not performed", "")
	if made := g.Tried(nil, nil).Exchanges; len(bells) != 0 || len(made) != 1 || made[0].Act != "ring the bell lobby" {
		t.Errorf("got %v rung and %+v, want none rung, and one effect", bells, made)
	}
}
