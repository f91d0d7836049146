package hostfuncs

import (
	"errors"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

func limitIn(t *testing.T, err error) (string, int64) {
	t.Helper()
	var ask *runtime.AskError
	if err == nil {
		return "", 0
	}
	if !errors.As(err, &ask) || ask.Kind != runtime.KindLimit {
		t.Fatalf("got %v, want a limit", err)
	}
	return ask.Message, ask.RetryAfterMs
}

func TestQuota_ratesReturnRetryDelay(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQuota("p", limitsOf(Limits{Rate: 4, PrincipalRate: 2}, nil))
	q.now = func() time.Time { return now }
	try := func(who string) (string, int64) {
		release, err := q.admit(0, who)
		if err == nil {
			release()
		}
		return limitIn(t, err)
	}
	for range 2 {
		if said, _ := try("a"); said != "" {
			t.Fatalf("got %q, want admission", said)
		}
	}
	if said, ms := try("a"); said != `plugin "p" serves 2 calls a second of one caller (limits.principal_rate): try again in 500ms` || ms != 500 {
		t.Errorf("a third call: got %q, %d ms, want the limit of one caller, 500 ms", said, ms)
	}
	for range 2 {
		if said, _ := try("b"); said != "" {
			t.Fatalf("got %q, want admission", said)
		}
	}
	if said, ms := try("c"); said != `plugin "p" serves 4 calls a second (limits.rate): try again in 250ms` || ms != 250 {
		t.Errorf("a fifth call: got %q, %d ms, want the limit of the plugin, 250 ms", said, ms)
	}
	now = now.Add(500 * time.Millisecond)
	if said, _ := try("a"); said != "" {
		t.Errorf("after the wait: got %q, want success", said)
	}
}

func TestQuota_boundsConcurrentCallsPerPrincipal(t *testing.T) {
	q := newQuota("p", limitsOf(Limits{PrincipalCalls: 2}, nil))
	first, err := q.admit(0, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.admit(0, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.admit(0, "b"); err != nil {
		t.Errorf("another caller: got %v, want success", err)
	}
	_, err = q.admit(0, "a")
	if said, ms := limitIn(t, err); said != `plugin "p" serves 2 calls of one caller at a time (limits.principal_calls): try again in 1s` || ms != 1000 {
		t.Errorf("a third call at a time: got %q, %d ms, want the limit of one caller, 1000 ms", said, ms)
	}
	first()
	first() // release is idempotent
	if _, err := q.admit(0, "a"); err != nil {
		t.Errorf("after a call has ended: got %v, want success", err)
	}
	if _, err := q.admit(0, "a"); err == nil {
		t.Errorf("after one release: got a second call admitted, want a limit")
	}
}

func TestQuota_dropsIdlePrincipalsBeyondBound(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQuota("p", limitsOf(Limits{PrincipalRate: 1}, nil))
	q.now = func() time.Time { return now }
	for i := range maxPrincipals + 100 {
		if release, err := q.admit(0, time.Duration(i).String()); err == nil {
			release()
		}
	}
	if len(q.each) > maxPrincipals+1 {
		t.Errorf("got %d callers kept, want at most %d", len(q.each), maxPrincipals+1)
	}
	now = now.Add(time.Hour)
	if _, err := q.admit(0, "new"); err != nil || len(q.each) > 2 {
		t.Errorf("an hour later: got %v, %d callers kept, want success, at most 2", err, len(q.each))
	}
}

func TestQuota_keepsPrincipalsUntilTheirCallsAreBack(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQuota("p", limitsOf(Limits{PrincipalRate: 1.0 / 600}, nil))
	q.now = func() time.Time { return now }
	admit := func(who string) error {
		release, err := q.admit(0, who)
		if err == nil {
			release()
		}
		return err
	}
	for i := range maxPrincipals {
		if err := admit(time.Duration(i).String()); err != nil {
			t.Fatalf("principal %d: got %v, want its first call admitted", i, err)
		}
	}
	now = now.Add(2 * time.Minute)
	if err := admit("new"); err != nil {
		t.Fatalf("one more principal: got %v, want it admitted", err)
	}
	if err := admit("0s"); err == nil {
		t.Error("a principal of one call in 10 minutes: got a second one admitted after 2 minutes, want it refused")
	}
}

func TestQuota_rateOfOneAdmitsOneCall(t *testing.T) {
	q := newQuota("p", limitsOf(Limits{Rate: 1}, nil))
	q.now = func() time.Time { return time.Unix(1000, 0) }
	release, err := q.admit(0, "a")
	if err != nil {
		t.Fatal(err)
	}
	release()
	_, err = q.admit(0, "a")
	if said, _ := limitIn(t, err); said != `plugin "p" serves 1 call a second (limits.rate): try again in 1s` {
		t.Errorf("got %q, want the limit of 1 call a second", said)
	}
}

// A class has its own rate and concurrency of each caller, and a rate of its callers together within that of all.
func TestQuota_limitsAClass(t *testing.T) {
	q := newQuota("p", limitsOf(Limits{Rate: 5, PrincipalRate: 4, PrincipalCalls: 3}, []Class{
		{Limits: Limits{Rate: 2, PrincipalRate: 1}}, {Limits: Limits{PrincipalCalls: 1}},
	}))
	q.now = func() time.Time { return time.Unix(1000, 0) }
	for _, call := range []struct {
		class     int
		principal string
		want      string
	}{
		{1, "a", ""},
		{1, "a", `plugin "p" serves 1 call a second of one caller (limits.for.principal_rate): try again in 1s`},
		{1, "b", ""},
		{1, "c", `plugin "p" serves 2 calls a second of callers like this one (limits.for.rate): try again in 500ms`},
		{2, "a", ""}, // it has the group of the second class in this call
		{2, "a", `plugin "p" serves 1 call of one caller at a time (limits.for.principal_calls): try again in 1s`},
		{0, "x", ""},
		{0, "x", ""},
		{2, "y", `plugin "p" serves 5 calls a second (limits.rate): try again in 200ms`},
	} {
		_, err := q.admit(call.class, call.principal)
		if said, _ := limitIn(t, err); said != call.want {
			t.Errorf("%+v: got %q", call, said)
		}
	}
}
