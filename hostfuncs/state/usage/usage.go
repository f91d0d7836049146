// Package usage counts the calls of principals in windows of time, and refuses calls over a quota.
//
//	m := usage.New(usage.Options{Store: s})
//	m.Set([]usage.Quota{{Who: everyone, Per: time.Hour, Most: usage.Amount{Calls: 100}}})
//	settle, err := m.Begin(ctx, caller)     // *runtime.EndError over a quota
//	…
//	settle(usage.Amount{Fuel: 1e6})
//
// Windows are multiples of their length since 1970. The counts are in the store, so that all hosts of a store count
// together, and no memory grows with the principals. Callers without a quota cost no access to the store. A call counts
// when it begins, and its fuel, bytes and requests when it ends: calls that run at the same time can exceed these three.
package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// MinWindow and MaxWindow bound the length of a window.
	MinWindow, MaxWindow = time.Minute, 31 * 24 * time.Hour
	// keptWindows is the number of windows of each length that are kept of a principal, for reports.
	keptWindows = 24
	// settleTime bounds the count of a call that has ended.
	settleTime = 10 * time.Second
)

// Amount is an amount of use. As a limit, a zero field is none.
type Amount struct {
	Calls    int64 `json:"calls,omitempty"`    // of plugins, nested ones too
	Fuel     int64 `json:"fuel,omitempty"`     // computation of guests, about one instruction each
	Bytes    int64 `json:"bytes,omitempty"`    // sent and received by requests of plugins
	Requests int64 `json:"requests,omitempty"` // of plugins to the web
}

// plus adds amounts. A sum that is too large stays the largest number.
func (a Amount) plus(b Amount) Amount {
	return Amount{sum(a.Calls, b.Calls), sum(a.Fuel, b.Fuel), sum(a.Bytes, b.Bytes), sum(a.Requests, b.Requests)}
}

func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// over returns the first field of a that has reached that of a limit, in words; "" if none has.
func (a Amount) over(most Amount) string {
	for _, f := range []struct {
		used, most int64
		words      string
	}{
		{a.Calls, most.Calls, "calls"}, {a.Fuel, most.Fuel, "units of fuel"}, {a.Bytes, most.Bytes, "bytes"}, {a.Requests, most.Requests, "requests"},
	} {
		if f.most > 0 && f.used >= f.most {
			return fmt.Sprintf("%d %s", f.most, f.words)
		}
	}
	return ""
}

// Quota limits the use of each of some callers, each on its own, in each window.
type Quota struct {
	Who  identity.Who
	Per  time.Duration // from MinWindow to MaxWindow, in whole seconds
	Most Amount        // the zero value only counts
}

// Options configure a Meter.
type Options struct {
	Store  *store.Store
	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
}

// Meter counts calls. It is safe for concurrent use. A nil Meter counts nothing.
type Meter struct {
	options Options
	quotas  atomic.Pointer[[]Quota]
}

// New returns a meter without quotas.
func New(o Options) *Meter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Meter{options: o}
}

// Set replaces the quotas, for later calls.
func (m *Meter) Set(all []Quota) {
	all = slices.Clone(all)
	m.quotas.Store(&all)
}

// Begin counts a call of a caller that a quota names, and returns the function that adds its use when it has ended; nil
// if no quota names the caller. The error is a *runtime.EndError: that of a quota that is used up, of KindLimit with
// the time of its next window, or KindUnavailable if the store cannot count.
func (m *Meter) Begin(ctx context.Context, caller identity.Identity) (settle func(Amount), err error) {
	if m == nil {
		return nil, nil
	}
	quotas := m.quotas.Load()
	if quotas == nil || len(*quotas) == 0 {
		return nil, nil
	}
	now := m.options.Now()
	windows := windowsOf(*quotas, caller, now)
	if len(windows) == 0 {
		return nil, nil
	}
	err = m.add(ctx, caller.Principal, windows, func(w window, used Amount) (Amount, error) {
		return used.plus(Amount{Calls: 1}), w.check(caller.Principal, used, now)
	})
	var end *runtime.EndError
	switch {
	case errors.As(err, &end):
		return nil, err
	case err != nil:
		m.options.Logger.Error("a call is refused, since it cannot be counted for its quota", "principal", caller.Principal, "error", err)
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the quotas of callers cannot be counted at present, so that no call begins", Err: err}
	}
	ctx = context.WithoutCancel(ctx)
	return func(a Amount) { m.settle(ctx, caller.Principal, windows, a) }, nil
}

// settle adds the use of a call that has ended to the windows in which it began.
func (m *Meter) settle(ctx context.Context, principal string, windows []window, a Amount) {
	if a == (Amount{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	err := m.add(ctx, principal, windows, func(_ window, used Amount) (Amount, error) { return used.plus(a), nil })
	if err != nil {
		m.options.Logger.Error("the use of a call is not counted", "principal", principal, "error", err)
	}
}

// add changes the counts of all windows in one transaction.
func (m *Meter) add(ctx context.Context, principal string, windows []window, change func(window, Amount) (Amount, error)) error {
	records := make([]store.Record, len(windows))
	for i, w := range windows {
		records[i] = store.Record{ID: w.id(principal), Expires: w.begin.Add(keptWindows * w.length)}
	}
	return m.options.Store.Change(ctx, store.Usage, principal, records, func(data [][]byte) ([][]byte, error) {
		next := make([][]byte, len(windows))
		for i, w := range windows {
			var used Amount
			if data[i] != nil {
				if err := json.Unmarshal(data[i], &used); err != nil {
					return nil, err
				}
			}
			used, err := change(w, used)
			if err != nil {
				return nil, err
			}
			if next[i], err = json.Marshal(used); err != nil {
				return nil, err
			}
		}
		return next, nil
	})
}

// window is one window of a caller, with the limits of all its quotas of that length.
type window struct {
	begin  time.Time
	length time.Duration
	most   []Amount
}

// windowsOf returns the windows of a caller at a time, one for each length, the shortest first.
func windowsOf(quotas []Quota, caller identity.Identity, now time.Time) (all []window) {
	for _, q := range quotas {
		if !q.Who.Has(caller) {
			continue
		}
		i := slices.IndexFunc(all, func(w window) bool { return w.length == q.Per })
		if i < 0 {
			i, all = len(all), append(all, window{begin: beginOf(now, q.Per), length: q.Per})
		}
		all[i].most = append(all[i].most, q.Most)
	}
	slices.SortFunc(all, func(v, w window) int { return cmp.Compare(v.length, w.length) })
	return all
}

// beginOf returns the begin of the window of a time.
func beginOf(now time.Time, length time.Duration) time.Time {
	seconds := int64(length / time.Second)
	return time.Unix(now.Unix()/seconds*seconds, 0).UTC()
}

// id identifies the window of a principal. IDs sort by length, begin and principal.
func (w window) id(principal string) string {
	return fmt.Sprintf("%08d.%012d.%s", int64(w.length/time.Second), w.begin.Unix(), principal)
}

// check returns the refusal of a call in a window with this use.
func (w window) check(principal string, used Amount, now time.Time) error {
	for _, most := range w.most {
		reached := used.over(most)
		if reached == "" {
			continue
		}
		end := w.begin.Add(w.length)
		wait := max(end.Sub(now), time.Second).Round(time.Second)
		return &runtime.EndError{
			Kind:    runtime.KindLimit,
			Message: fmt.Sprintf("%s has used its %s in %v (quotas): come back in %v, at %s", principal, reached, w.length, wait, end.Format(time.RFC3339)),
			Err:     &runtime.BusyError{After: wait, Quota: true},
		}
	}
	return nil
}
