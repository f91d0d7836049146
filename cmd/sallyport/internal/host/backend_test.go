package host

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// A denial has the line that would allow it, unless current grants cover it; otherwise it has its reason.
func TestShownCall_showsTheLineOrTheReason(t *testing.T) {
	line, err := json.Marshal(map[string]any{"call": "c", "plugin": "p", "outcome": "failed", "denials": []receipt.Denial{
		{Effect: "read ~/a", Reason: "no grant allows it", Hint: "fs: read ~/a"},
		{Effect: "read ~/b/c", Reason: "no grant allows it", Hint: "fs: read ~/b/c"},
		{Effect: "GET https://a.example/", Reason: "the secret KEY: it is not set: sallyport secret set KEY asks for it"},
		{Effect: "read ~/d", Reason: "line 3 denies it", Hint: "sallyport allow X"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(plugin string, grants ...string) []console.Plugin {
		return []console.Plugin{{Name: plugin, Grants: grants}}
	}
	members := []hostState{{ID: "other", Plugins: lines("q", "fs: read ~/**")}, {ID: "host", Plugins: lines("p", "nonsense", "fs: read ~/b/**")}}
	const now = "the lines of the plugin allow it by now"
	secret, denied := "the secret KEY: it is not set: sallyport secret set KEY asks for it", "line 3 denies it"
	for host, want := range map[string][]console.Denial{
		"":      {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Why: now}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
		"host":  {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Why: now}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
		"other": {{Effect: "read ~/a", Line: "fs: read ~/a"}, {Effect: "read ~/b/c", Line: "fs: read ~/b/c"}, {Effect: "GET https://a.example/", Why: secret}, {Effect: "read ~/d", Why: denied}},
	} {
		c, ok := shownCall(line)
		c.Host = host
		if dropCovered(&c, members); !ok || !reflect.DeepEqual(c.Denials, want) {
			t.Errorf("of %q: %+v", host, c.Denials)
		}
	}
}

// A search finds a word in each part of a call that the page shows, in any case and in any chain, and the newest calls first.
func TestBackend_findsCallsOfTheWholeLog(t *testing.T) {
	s := configured(t, "")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	line := func(l *audit.Log, id, more string) {
		t.Helper()
		now = now.Add(time.Second)
		if _, err := l.Append(fmt.Appendf(nil, `"call":%q,"outcome":"ok",%s`, id, more)); err != nil {
			t.Fatal(err)
		}
	}
	for chain := range 2 {
		l := audit.New(s.State().Audit(), audit.Options{Now: func() time.Time { return now }})
		for i := range 2 * shownCalls {
			line(l, fmt.Sprintf("many%d-%d", chain, i), `"plugin":"many"`)
		}
		line(l, fmt.Sprint("plugin", chain), `"plugin":"Weather"`)
		line(l, fmt.Sprint("tool", chain), `"plugin":"p","tool":"forecast_weather"`)
		line(l, fmt.Sprint("effect", chain), `"plugin":"p","effects":[{"family":"net","target":"GET https://WEATHER.example","count":1}]`)
		line(l, fmt.Sprint("denial", chain), `"plugin":"p","denials":[{"effect":"read ~/weather.txt","reason":"no grant allows it"}]`)
		if _, err := l.Append([]byte(`"call":"begun","plugin":"weather"`)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h := &backend{settings: s}
	for word, want := range map[string][]string{
		"weather":  {"denial1", "effect1", "tool1", "plugin1", "denial0", "effect0", "tool0", "plugin0"},
		"FORECAST": {"tool1", "tool0"}, "tool0": {"tool0"}, "no grant": {"denial1", "denial0"}, "nowhere": {},
	} {
		found, err := h.Find(t.Context(), word)
		got := []string{}
		for _, c := range found {
			got = append(got, c.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", word, got, err, want)
		}
	}
	if found, err := h.Find(t.Context(), "many"); err != nil || len(found) != shownCalls || found[0].ID != fmt.Sprint("many1-", 2*shownCalls-1) {
		t.Errorf("many: got %d calls, %v, want the newest %d", len(found), err, shownCalls)
	}
}

// The receipt of a call has the lines of each of its runs, and no line of another call.
func TestBackend_showsTheLinesOfACall(t *testing.T) {
	s := configured(t, "")
	l := audit.New(s.State().Audit(), audit.Options{})
	for _, line := range []string{`"call":"a","plugin":"p"`, `"call":"b","plugin":"a"`, `"call":"a","outcome":"ok","plugin":"p"`,
		`"call":"long","plugin":"p","would":[` + strings.Repeat(`"x",`, 200_000) + `"x"]`} {
		if _, err := l.Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h := &backend{settings: s}
	text, err := h.Receipt(t.Context(), "a")
	if err != nil || strings.Count(text, `"call": "a"`) != 2 || strings.Contains(text, `"b"`) || !strings.Contains(text, `"outcome": "ok"`) {
		t.Errorf("got %s, %v, want both lines of the call", text, err)
	}
	if text, err := h.Receipt(t.Context(), ""); err == nil {
		t.Errorf("no call: got %s, want an error", text)
	}
	if text, err := h.Receipt(t.Context(), "long"); err != nil || len(text) > maxReview+100 || !strings.HasSuffix(text, "\n… the rest: sallyport audit show long") {
		t.Errorf("a long line: got %d bytes, %v, want the beginning", len(text), err)
	}
	if text, err := h.Receipt(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), `no call "c" is in the audit log`) {
		t.Errorf("an unknown call: got %s, %v, want an error", text, err)
	}
}
