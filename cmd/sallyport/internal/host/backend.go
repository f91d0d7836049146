package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/review"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

const (
	// shownCalls is the number of calls on the page.
	shownCalls = 50
	// maxReview is the limit in bytes of a review printed in full. A longer one, which is not read to its end, is
	// shortened as by sallyport approve.
	maxReview = 128 << 10
	// reviewTime is the deadline for loading a folder to review one plugin.
	reviewTime = time.Minute
	// shownTrial is the time for recorded calls, while the page waits.
	shownTrial = 10 * time.Second
)

// backend implements console.Backend for the hosts of a state folder, from whichever process serves the console.
type backend struct {
	settings *settings.Settings
	store    *store.Store
	note     func(consent.Answered) error
	offering Offering
	latest   *audit.Latest

	reviewing  sync.Mutex // held while a folder is loaded
	installing sync.Mutex // held during an installation
}

var _ console.Backend = (*backend)(nil)

func newBackend(s *settings.Settings, kept *store.Store, note func(consent.Answered) error, offering Offering) *backend {
	return &backend{settings: s, store: kept, note: note, offering: offering, latest: audit.NewLatest(s.State().Audit(), shownCalls)}
}

func (h *backend) members() []hostState {
	all, err := runningHosts(h.settings, h.store)
	if err != nil {
		return nil // the page then shows none
	}
	return all
}

// Hosts returns the running hosts.
func (h *backend) Hosts() []console.Host {
	all := []console.Host{}
	for _, m := range h.members() {
		all = append(all, console.Host{ID: m.ID, Dir: m.Dir, Clients: m.Clients, Plugins: m.Plugins})
	}
	return all
}

// find returns a running host by ID; with an empty ID the first one that has the plugin.
func (h *backend) find(id, plugin string) (hostState, error) {
	all := h.members()
	has := func(m hostState) bool {
		return m.ID == id || id == "" && slices.ContainsFunc(m.Plugins, func(p console.Plugin) bool { return p.Name == plugin })
	}
	if i := slices.IndexFunc(all, has); i >= 0 {
		return all[i], nil
	}
	return hostState{}, fmt.Errorf("no host that has the plugin %q runs", plugin)
}

// Calls returns the latest calls from the audit log.
func (h *backend) Calls() ([]console.Call, error) {
	lines, err := h.latest.Lines()
	if err != nil {
		return nil, err
	}
	all := h.members()
	calls := []console.Call{}
	for _, l := range lines {
		if c, ok := shownCall(l.Text); ok {
			calls = append(calls, served(c, l.Chain, all))
		}
	}
	return calls, nil
}

// served adds the host that served a call, and removes suggested lines that it does not need any more.
func served(c console.Call, chain string, all []hostState) console.Call {
	if i := slices.IndexFunc(all, func(m hostState) bool { return m.Chain == chain }); i >= 0 {
		c.Host = all[i].ID
	}
	dropCovered(&c, all)
	return c
}

// Find returns the newest calls of the whole audit log that name a word.
func (h *backend) Find(ctx context.Context, word string) ([]console.Call, error) {
	found := []console.Call{}
	newest := func() {
		slices.SortStableFunc(found, func(a, b console.Call) int { return b.At.Compare(a.At) })
		found = found[:min(len(found), shownCalls)]
	}
	all := h.members()
	word = strings.ToLower(word)
	err := audit.Read(h.settings.State().Audit(), func(l audit.Line) bool {
		if c, ok := shownCall(l.Text); ok && names(c, word) {
			found = append(found, served(c, l.Chain, all))
		}
		if len(found) == 2*shownCalls {
			newest()
		}
		return ctx.Err() == nil
	})
	newest()
	return found, errors.Join(err, ctx.Err())
}

// Receipt returns the lines of the audit log of one call: one that was continued has a line for each run. A long text is cut
// behind a line, as a page with a million of them shows nothing.
func (h *backend) Receipt(ctx context.Context, call string) (string, error) {
	var out bytes.Buffer
	err := audit.Read(h.settings.State().Audit(), func(l audit.Line) bool {
		if id, ok := jsonraw.String(jsonraw.Get(l.Text, "call")); ok && id == call {
			if err := json.Indent(&out, l.Text, "", "  "); err == nil {
				out.WriteByte('\n')
			}
		}
		return ctx.Err() == nil && out.Len() < maxReview
	})
	if err = errors.Join(err, ctx.Err()); err == nil && out.Len() == 0 {
		err = fmt.Errorf("no call %q is in the audit log", call)
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if len(text) > maxReview {
		text = text[:strings.LastIndexByte(text[:maxReview], '\n')+1] + "… the rest: sallyport audit show " + call
	}
	return text, err
}

// names reports whether a call has a word in lower case in any text that the page shows of it.
func names(c console.Call, word string) bool {
	texts := append([]string{c.ID, c.Plugin, c.Tool, c.Outcome}, c.Effects...)
	for _, d := range c.Denials {
		texts = append(texts, d.Effect, d.Line, d.Why)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) })
}

// dropCovered removes suggested lines from denials that current grants already cover.
func dropCovered(c *console.Call, all []hostState) {
	for i, d := range c.Denials {
		if d.Line == "" {
			continue
		}
		for _, m := range all {
			if (c.Host == "" || c.Host == m.ID) && covers(m, c.Plugin, d.Line) {
				c.Denials[i].Line, c.Denials[i].Why = "", "the lines of the plugin allow it by now"
			}
		}
	}
}

// covers reports whether a host's grants for a plugin include a line.
func covers(m hostState, plugin, line string) bool {
	g, err := grant.ParseLine(line)
	i := slices.IndexFunc(m.Plugins, func(p console.Plugin) bool { return p.Name == plugin })
	if err != nil || i < 0 {
		return false
	}
	var lines []grant.Grant
	for _, text := range m.Plugins[i].Grants {
		if l, err := grant.ParseLine(text); err == nil {
			lines = append(lines, l)
		}
	}
	return grant.NewSet(lines...).Includes(g)
}

// shownCall converts an audit line to a call; false for lines without an outcome, such as a call's start.
func shownCall(line json.RawMessage) (console.Call, bool) {
	var r struct {
		receipt.Receipt
		At   time.Time `json:"at"`
		Tool string    `json:"tool"`
	}
	if json.Unmarshal(line, &r) != nil || r.Outcome == "" {
		return console.Call{}, false
	}
	c := console.Call{ID: r.Call, At: r.At, Plugin: r.Plugin, Tool: r.Tool, Outcome: r.Outcome, Millis: r.Millis}
	for _, e := range r.Effects {
		c.Effects = append(c.Effects, fmt.Sprintf("%s %s × %d", e.Family, e.Target, e.Count))
	}
	for _, d := range r.Denials {
		c.Denials = append(c.Denials, shownDenial(d))
	}
	return c, true
}

// shownDenial converts a denial, with the line that would allow it or else with its reason.
func shownDenial(d receipt.Denial) console.Denial {
	if line := lineIn(d.Hint); line != "" {
		return console.Denial{Effect: d.Effect, Line: line}
	}
	return console.Denial{Effect: d.Effect, Why: d.Reason}
}

// lineIn returns a hint that is a grant in canonical form, "" if it is a command.
func lineIn(hint string) string {
	g, err := grant.ParseLine(hint)
	if hint == "" || err != nil {
		return ""
	}
	return g.String()
}

// look loads a plugin of a host for review.
func (h *backend) look(ctx context.Context, id, plugin string) (*registry.Review, *settings.Settings, console.Review, error) {
	m, err := h.find(id, plugin)
	if err != nil {
		return nil, nil, console.Review{}, err
	}
	s, err := m.settings(h.settings.Text("state"))
	if err != nil {
		return nil, nil, console.Review{}, err
	}
	h.reviewing.Lock()
	defer h.reviewing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	v, err := Review(ctx, s, slog.New(slog.DiscardHandler), plugin)
	if err != nil {
		return nil, nil, console.Review{}, err
	}
	var text strings.Builder
	if review.Print(&text, v, true); text.Len() > maxReview {
		text.Reset()
		review.Print(&text, v, false)
	}
	shown := console.Review{Text: text.String(), Answers: []string{}}
	answers, err := Answers(ctx, s, v)
	for _, g := range answers {
		shown.Answers = append(shown.Answers, Answer(g))
	}
	shown.Seen = named(append([]string{shown.Text, v.After.Digest}, shown.Answers...)...)
	return v, s, shown, err
}

// named returns a digest of the texts shown, to detect changes before a decision.
func named(shown ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(shown, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Review returns the difference of a held plugin to its approved version, and that of its effects in recorded calls,
// which may be recorded between the review and the decision.
func (h *backend) Review(ctx context.Context, host, plugin string) (console.Review, error) {
	v, s, shown, err := h.look(ctx, host, plugin)
	if err != nil || v.Before.Digest == "" || v.Before.Digest == v.After.Digest {
		return shown, err
	}
	report, err := Trial(ctx, s, v, shownTrial)
	if err == nil {
		var text strings.Builder
		review.PrintEffects(&text, report, false)
		shown.Text += text.String()
	}
	return shown, err
}

// Decide approves or rejects a reviewed plugin, and carries over or forgets its answers. It returns console.ErrChanged
// if the review changed since it was shown.
func (h *backend) Decide(ctx context.Context, host, plugin, seen string, said console.Verdict) error {
	v, s, shown, err := h.look(ctx, host, plugin)
	if err != nil {
		return err
	}
	if shown.Seen != seen {
		return console.ErrChanged
	}
	err = consent.Change(h.note, func() error { return Decide(ctx, s, v, said.Approve) }, Decided(consent.ByConsole, v, said.Approve))
	if err != nil || !said.Approve {
		return err
	}
	return Carry(ctx, s, v, said.Carry, consent.ByConsole, h.note)
}

// add computes how a line is added to the configuration of a host.
func (h *backend) add(host, plugin, line string) (*settings.Addition, console.Proposal, error) {
	m, err := h.find(host, plugin)
	if err != nil {
		return nil, console.Proposal{}, err
	}
	a, err := settings.Add(m.Config, plugin, line)
	if err != nil {
		return nil, console.Proposal{}, err
	}
	return a, console.Proposal{File: a.File, Lines: a.Difference, Note: a.Note, Seen: named(append([]string{a.File, a.Plugin}, a.Difference...)...)}, nil
}

// Propose returns the change of the configuration that adds a line to the grants of a plugin.
func (h *backend) Propose(host, plugin, line string) (console.Proposal, error) {
	_, p, err := h.add(host, plugin, line)
	return p, err
}

// Grant applies a shown Proposal. It returns console.ErrChanged if the configuration changed since.
func (h *backend) Grant(host, plugin, line, seen string) error {
	a, p, err := h.add(host, plugin, line)
	if err == nil && p.Seen != seen {
		err = console.ErrChanged
	}
	if err != nil {
		return err
	}
	err = consent.Change(h.note, a.Write, Granted(consent.ByConsole, plugin, a.Line))
	if errors.Is(err, userfile.ErrMeanwhile) {
		return console.ErrChanged
	}
	return err
}
