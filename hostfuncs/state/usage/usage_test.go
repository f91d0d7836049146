package usage_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// noon is the begin of an hour and of a day.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

var ann = identity.Identity{Principal: "token:ann", Groups: []string{"ops"}}

// hosts returns meters of several hosts with one store and one clock.
func hosts(t *testing.T, n int, quotas ...usage.Quota) ([]*usage.Meter, *storetest.Clock, *store.Store) {
	t.Helper()
	clock, dir := storetest.NewClock(noon.Add(time.Minute)), filepath.Join(t.TempDir(), "state")
	var all []*usage.Meter
	var kept *store.Store
	for range n {
		o := storetest.Options(t, dir)
		o.Now = clock.Now
		kept = storetest.Open(t, o)
		m := usage.New(usage.Options{Store: kept, Now: clock.Now})
		m.Set(quotas)
		all = append(all, m)
	}
	return all, clock, kept
}

func quota(t *testing.T, who string, per time.Duration, most usage.Amount) usage.Quota {
	t.Helper()
	w, err := identity.ParseWho([]string{who})
	if err != nil {
		t.Fatal(err)
	}
	return usage.Quota{Who: w, Per: per, Most: most}
}

// begin counts a call, and returns the message of its refusal, "" for none.
func begin(t *testing.T, m *usage.Meter, id identity.Identity, use usage.Amount) string {
	t.Helper()
	settle, err := m.Begin(t.Context(), id)
	var end *runtime.EndError
	switch {
	case errors.As(err, &end):
		return end.Message
	case err != nil:
		t.Fatal(err)
	case settle != nil:
		settle(use)
	}
	return ""
}

// Each limit holds for two hosts of one store together, and a refusal says when to come back.
func TestMeter_limitsHoldAcrossHosts(t *testing.T) {
	for name, most := range map[string]usage.Amount{
		"2 calls": {Calls: 2}, "20 units of fuel": {Fuel: 20}, "200 bytes": {Bytes: 200}, "4 requests": {Requests: 4},
	} {
		all, clock, _ := hosts(t, 2, quota(t, "group:ops", time.Hour, most))
		use := usage.Amount{Fuel: 10, Bytes: 100, Requests: 2}
		for _, m := range all {
			if got := begin(t, m, ann, use); got != "" {
				t.Errorf("%s: got %s, want no refusal", name, got)
			}
		}
		for _, m := range all {
			_, err := m.Begin(t.Context(), ann)
			var end *runtime.EndError
			var busy *runtime.BusyError
			if want := "token:ann has used its " + name + " in 1h0m0s (quotas): come back in 59m0s, at 2026-11-23T13:00:00Z"; !errors.As(err, &end) || end.Message != want || end.Kind != runtime.KindLimit {
				t.Errorf("got %v, want %s", err, want)
			}
			if !errors.As(err, &busy) || !busy.Quota || busy.After != 59*time.Minute {
				t.Errorf("got %+v, want a wait of 59m", busy)
			}
		}
		clock.Pass(59 * time.Minute)
		if got := begin(t, all[1], ann, use); got != "" {
			t.Errorf("%s, next window: got %s, want no refusal", name, got)
		}
	}
}

// Calls that begin at the same time on two hosts are counted exactly.
func TestMeter_countsConcurrentCallsExactly(t *testing.T) {
	all, _, kept := hosts(t, 2, quota(t, "all", time.Hour, usage.Amount{Calls: 30}))
	var admitted, refused atomic.Int32
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for range 5 {
				settle, err := all[i%2].Begin(t.Context(), ann)
				var busy *runtime.BusyError
				switch {
				case err == nil:
					admitted.Add(1)
					settle(usage.Amount{Fuel: 1})
				case errors.As(err, &busy):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	if admitted.Load() != 30 || refused.Load() != 10 {
		t.Errorf("got %d admitted and %d refused, want 30 and 10", admitted.Load(), refused.Load())
	}
	if got := lines(t, kept); len(got) != 1 || got[0].Amount != (usage.Amount{Calls: 30, Fuel: 30}) {
		t.Errorf("got %+v, want 30 calls", got)
	}
}

func lines(t *testing.T, kept *store.Store) (all []usage.Line) {
	t.Helper()
	if err := usage.Each(t.Context(), kept, func(l usage.Line) error { all = append(all, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// A caller without a quota is not counted: nothing is written, and a store that is away does not matter.
func TestMeter_writesNothingWithoutAQuota(t *testing.T) {
	steps := 0
	o := storetest.Options(t, filepath.Join(t.TempDir(), "state"))
	o.Reached = func(string) error { steps++; return nil }
	kept := storetest.Open(t, o)
	m := usage.New(usage.Options{Store: kept})
	for _, quotas := range [][]usage.Quota{nil, {quota(t, "group:ops", time.Hour, usage.Amount{Calls: 1})}} {
		m.Set(quotas)
		for _, principal := range []string{"token:bob", "anonymous", "cli"} {
			if settle, err := m.Begin(t.Context(), identity.Identity{Principal: principal}); settle != nil || err != nil {
				t.Errorf("got %v, want neither a count nor an error", err)
			}
		}
	}
	if steps != 0 {
		t.Errorf("got %d steps of changes, want none", steps)
	}
	if got := begin(t, m, ann, usage.Amount{}); got != "" || steps == 0 {
		t.Errorf("got %q and %d steps, want a count", got, steps)
	}
	kept.Close()
	if got := begin(t, m, ann, usage.Amount{}); !strings.Contains(got, "cannot be counted at present") {
		t.Errorf("got %q, want a refusal, as the call cannot be counted", got)
	}
	if settle, err := m.Begin(t.Context(), identity.Identity{Principal: "token:bob"}); settle != nil || err != nil {
		t.Errorf("got %v, want no error without a quota", err)
	}
}

// Names that look alike, or that a database or a report could misread, are callers of their own.
func TestMeter_keepsLookalikesApart(t *testing.T) {
	all, _, kept := hosts(t, 1, quota(t, "all", time.Hour, usage.Amount{Calls: 1}))
	names := []string{
		"token:ann", "token:Ann", "token:ANN", "token:ann ", "token:\uff41nn", "token:caf\u00e9", "token:cafe\u0301", "token:\u0430nn", "token:a.b", "token:a", ".b", "",
		"x'); DROP TABLE records; --", `"; DELETE FROM records`, "%", "_", "a,b", "a\nb", `a"b`, "=1+1", "@x", "\x00", "\x00a", "0", strings.Repeat("n", 1024),
	}
	for _, name := range names {
		if got := begin(t, all[0], identity.Identity{Principal: name}, usage.Amount{}); got != "" {
			t.Errorf("%.40q: got %s, want its first call", name, got)
		}
	}
	for _, name := range names {
		if got := begin(t, all[0], identity.Identity{Principal: name}, usage.Amount{}); !strings.Contains(got, "1 calls") {
			t.Errorf("%.40q: got %q, want a refusal", name, got)
		}
	}
	found := map[string]int64{}
	for _, l := range lines(t, kept) {
		found[l.Principal] += l.Calls
	}
	for _, name := range names {
		if found[name] != 1 || len(found) != len(names) {
			t.Errorf("%.40q: got %d calls of %d callers, want 1 of %d", name, found[name], len(found), len(names))
		}
	}
}

// A clock that steps back finds the count of the window before, and one that steps forward a new one.
func TestMeter_clockSteps(t *testing.T) {
	all, clock, _ := hosts(t, 1, quota(t, "all", time.Hour, usage.Amount{Calls: 1}))
	for i, step := range []struct {
		by   time.Duration
		want bool
	}{{0, true}, {time.Second, false}, {2 * time.Hour, true}, {-2 * time.Hour, false}, {-time.Hour, true}, {time.Second, false}, {3 * time.Hour, false}} {
		clock.Pass(step.by)
		if got := begin(t, all[0], ann, usage.Amount{}) == ""; got != step.want {
			t.Errorf("step %d, by %v: got %v, want %v", i, step.by, got, step.want)
		}
	}
}

// A call that one quota refuses is counted by none, and of two quotas of one length the lower holds.
func TestMeter_allQuotasOfACallerHold(t *testing.T) {
	all, clock, kept := hosts(t, 1,
		quota(t, "all", 24*time.Hour, usage.Amount{Calls: 3}), quota(t, "group:ops", time.Hour, usage.Amount{Calls: 1}),
		quota(t, "all", time.Hour, usage.Amount{Calls: 2}), quota(t, "group:dev", time.Hour, usage.Amount{Calls: 1, Fuel: 1}))
	for i, want := range []string{"", "1 calls in 1h", "", "1 calls in 1h", "", "3 calls in 24h"} {
		if i > 0 && i%2 == 0 {
			clock.Pass(time.Hour)
		}
		if i == 5 {
			clock.Pass(time.Hour)
		}
		if got := begin(t, all[0], ann, usage.Amount{}); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("call %d: got %q, want %q", i, got, want)
		}
	}
	days := int64(0)
	for _, l := range lines(t, kept) {
		if l.Length == 24*time.Hour {
			days += l.Calls
		}
	}
	if days != 3 {
		t.Errorf("got %d calls of the day, want 3", days)
	}
}

// Of many windows the last ones stay, and sums stay in their range.
func TestMeter_isBounded(t *testing.T) {
	all, clock, kept := hosts(t, 1, quota(t, "all", time.Minute, usage.Amount{}))
	for range 60 {
		for range 2 {
			if got := begin(t, all[0], ann, usage.Amount{Fuel: math.MaxInt64, Bytes: 1}); got != "" {
				t.Fatalf("got %s, want a count without a limit", got)
			}
		}
		clock.Pass(time.Minute)
	}
	got := lines(t, kept)
	if len(got) < 20 || len(got) > 24 {
		t.Errorf("got %d windows, want the last 24", len(got))
	}
	for _, l := range got {
		if l.Amount != (usage.Amount{Calls: 2, Fuel: math.MaxInt64, Bytes: 2}) || l.Begin.Second() != 0 {
			t.Errorf("got %+v, want 2 calls", l)
		}
	}
}
