package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

const hour = time.Hour

// ask stores a question about https://a/, with the binding of its body.
func ask(t *testing.T, s *store.Store, c *storetest.Clock, id, binding string) store.Question {
	t.Helper()
	q, err := s.Ask(t.Context(), store.Question{
		ID: id, Plugin: "p", Digest: "d", Principal: "stdio:1", Line: "net: GET https://a/", Want: "net: GET https://**",
		Effect: "GET https://a/", Why: "reads it", Binding: binding, Expires: c.Now().Add(hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func wantQuestions(t *testing.T, s *store.Store, n int) {
	t.Helper()
	if all, err := s.Questions(t.Context()); len(all) != n || err != nil {
		t.Errorf("got %d questions, want %d: %+v, %v", len(all), n, all, err)
	}
}

func TestAsk_theSameIsOne(t *testing.T) {
	s, c, _ := open(t)
	first := ask(t, s, c, "q1", "body 1")
	if again := ask(t, s, c, "q2", "body 1"); again != first {
		t.Errorf("%+v, want %+v", again, first)
	}
	if other := ask(t, s, c, "q3", "body 2"); other.ID != "q3" {
		t.Errorf("another body: got question %+v, want q3", other)
	}
	if got, err := s.Question(t.Context(), "q1"); got != first || err != nil {
		t.Errorf("question q1: got %+v, %v, want %+v", got, err, first)
	}
	wantQuestions(t, s, 2)
	c.Pass(hour)
	wantQuestions(t, s, 0)
	if _, err := s.Question(t.Context(), "q1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("expired question: got %v, want %v", err, store.ErrNotFound)
	}
	if _, err := s.Allow(t.Context(), "q1", store.Answer{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("allow after it expired: got %v, want %v", err, store.ErrNotFound)
	}
}

func TestAllow_once(t *testing.T) {
	s, c, _ := open(t)
	ask(t, s, c, "q1", "body 1")
	ask(t, s, c, "q2", "body 2")
	g, err := s.Allow(t.Context(), "q1", store.Answer{Once: true, Expires: c.Now().Add(hour)})
	if err != nil || g.ID != "q1" || g.Plugin != "p" || g.Digest != "d" || g.Principal != "stdio:1" || g.Line != "net: GET https://a/" ||
		g.Binding != "body 1" || !g.Once {
		t.Errorf("allow once: got %+v, %v, want the grant of q1 for body 1", g, err)
	}
	wantQuestions(t, s, 1) // a different body is a new question
	if all, err := s.Grants(t.Context()); len(all) != 1 || all[0] != g || err != nil {
		t.Errorf("got grants %+v, %v, want only %+v", all, err, g)
	}
	if _, err := s.Allow(t.Context(), "q1", store.Answer{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("allowed twice: got %v, want %v", err, store.ErrNotFound)
	}
	if taken, err := s.Revoke(t.Context(), "q1"); !taken || err != nil {
		t.Errorf("revoke: got %t, %v, want true", taken, err)
	}
	if taken, err := s.Revoke(t.Context(), "q1"); taken || err != nil {
		t.Errorf("revoked twice: got %t, %v, want false", taken, err)
	}
}

// A one-time grant that is taken and given back is usable again, unless the operator or a new digest ended it meanwhile.
func TestRestore_notAfterRevoke(t *testing.T) {
	for name, test := range map[string]struct {
		between func(*store.Store, *storetest.Clock) error
		left    int
	}{
		"nothing": {func(*store.Store, *storetest.Clock) error { return nil }, 1},
		"revoke": {func(s *store.Store, _ *storetest.Clock) error {
			if revoked, err := s.Revoke(t.Context(), "q1"); revoked || err != nil {
				t.Errorf("revoke of a taken answer: got %t, %v, want false", revoked, err)
			}
			return nil
		}, 0},
		"a new digest": {func(s *store.Store, _ *storetest.Clock) error { return s.Forget(t.Context(), "p", "new") }, 0},
		"a denial": {func(s *store.Store, c *storetest.Clock) error {
			ask(t, s, c, "q2", "body 1")
			return s.Deny(t.Context(), "q2", time.Time{})
		}, 0},
		"a denial of another effect": {func(s *store.Store, c *storetest.Clock) error {
			ask(t, s, c, "q2", "body 2")
			return s.Deny(t.Context(), "q2", time.Time{})
		}, 1},
		"its expiry": {func(_ *store.Store, c *storetest.Clock) error { c.Pass(2 * hour); return nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, _ := open(t)
			ask(t, s, c, "q1", "body 1")
			g, err := s.Allow(t.Context(), "q1", store.Answer{Once: true, Expires: c.Now().Add(2 * hour)})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []bool{true, false} {
				if taken, err := s.Take(t.Context(), "q1"); taken != want || err != nil {
					t.Errorf("take: got %t, %v, want %t", taken, err, want)
				}
			}
			if all, err := s.Grants(t.Context()); len(all) != 0 || err != nil {
				t.Errorf("while it is taken: got grants %+v, %v, want none", all, err)
			}
			if err := errors.Join(test.between(s, c), s.Restore(t.Context(), g)); err != nil {
				t.Fatal(err)
			}
			if all, err := s.Grants(t.Context()); len(all) != test.left || err != nil || len(all) == 1 && all[0] != g {
				t.Errorf("given back: got grants %+v, %v, want %d of %+v", all, err, test.left, g)
			}
		})
	}
}

func TestTake_onlyOneTimeGrants(t *testing.T) {
	s, c, _ := open(t)
	ask(t, s, c, "q1", "body 1")
	if _, err := s.Allow(t.Context(), "q1", store.Answer{}); err != nil {
		t.Fatal(err)
	}
	if taken, err := s.Take(t.Context(), "q1"); taken || err != nil {
		t.Errorf("take of a lasting grant: got %t, %v, want false", taken, err)
	}
}

func TestAllow_moreThanOnce(t *testing.T) {
	for _, want := range []bool{false, true} {
		s, c, _ := open(t)
		ask(t, s, c, "q1", "body 1")
		ask(t, s, c, "q2", "body 2")
		g, err := s.Allow(t.Context(), "q2", store.Answer{Want: want})
		if err != nil || g.Binding != "" || g.Once || g.Line != map[bool]string{false: "net: GET https://a/", true: "net: GET https://**"}[want] {
			t.Errorf("allow with want %t: got %+v, %v, want a lasting grant without a binding", want, g, err)
		}
		wantQuestions(t, s, 0) // both questions are answered
		c.Pass(1000 * hour)
		if all, err := s.Grants(t.Context()); len(all) != 1 || err != nil {
			t.Errorf("after 1000 hours: got grants %+v, %v, want one", all, err)
		}
	}
}

// A question from an operator's line has no want to allow.
func TestAllow_noWant(t *testing.T) {
	s, c, _ := open(t)
	if _, err := s.Ask(t.Context(), store.Question{ID: "q", Plugin: "p", Expires: c.Now().Add(hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Allow(t.Context(), "q", store.Answer{Want: true}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	wantQuestions(t, s, 1)
}

func TestDeny_notAskedAgain(t *testing.T) {
	s, c, _ := open(t)
	ask(t, s, c, "q1", "body 1")
	ask(t, s, c, "q2", "body 2")
	if err := s.Deny(t.Context(), "q1", c.Now().Add(2*hour)); err != nil {
		t.Fatal(err)
	}
	wantQuestions(t, s, 0)
	if again := ask(t, s, c, "q3", "body 3"); again.ID != "q1" || !again.Refused {
		t.Errorf("asked again: got %+v, want q1 refused", again)
	}
	if err := s.Deny(t.Context(), "q1", time.Time{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("denied twice: got %v, want %v", err, store.ErrNotFound)
	}
	if _, err := s.Allow(t.Context(), "q1", store.Answer{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("allow after a refusal: got %v, want %v", err, store.ErrNotFound)
	}
	if all, err := s.Refused(t.Context()); len(all) != 1 || err != nil {
		t.Errorf("got refusals %+v, %v, want one", all, err)
	}
	if taken, err := s.Revoke(t.Context(), "q1"); !taken || err != nil {
		t.Errorf("revoke of a refusal: got %t, %v, want true", taken, err)
	}
	if again := ask(t, s, c, "q4", "body 1"); again.ID != "q4" {
		t.Errorf("asked after the revoke: got %+v, want q4", again)
	}
	if taken, err := s.Revoke(t.Context(), "q4"); taken || err != nil {
		t.Errorf("revoke of a waiting question: got %t, %v, want false", taken, err)
	}
}

// A plugin that asks ten thousand questions leaves room for other plugins, and for itself with other callers.
func TestAsk_isBounded(t *testing.T) {
	s, c, _ := open(t)
	var kept int
	for i := range 200 {
		_, err := s.Ask(t.Context(), store.Question{ID: fmt.Sprint(i), Plugin: "loud", Effect: fmt.Sprint(i), Expires: c.Now().Add(hour)})
		if err == nil {
			kept++
		} else if !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
	}
	if kept != 20 {
		t.Errorf("got %d questions kept, want 20", kept)
	}
	for id, q := range map[string]store.Question{"other": {Plugin: "quiet"}, "else": {Plugin: "loud", Principal: "token:b"}, "new": {Plugin: "loud", Digest: "other bytes"}} {
		q.ID, q.Expires = id, c.Now().Add(hour)
		if _, err := s.Ask(t.Context(), q); err != nil {
			t.Errorf("question %s: got %v, want success", id, err)
		}
	}
	if _, err := s.Ask(t.Context(), store.Question{ID: "other", Plugin: "third", Expires: c.Now().Add(hour)}); !errors.Is(err, store.ErrExists) {
		t.Errorf("two questions of one ID: got %v, want %v", err, store.ErrExists)
	}
}

// Carry moves answers to a new digest of a plugin. Questions and answers of other digests are removed.
func TestCarry_movesAnswersToNewDigest(t *testing.T) {
	s, _, _ := open(t)
	ctx := t.Context()
	ask := func(id, plugin, digest string) {
		if _, err := s.Ask(ctx, store.Question{ID: id, Plugin: plugin, Digest: digest, Principal: "a", Line: "line " + id, Effect: id, Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	allow := func(id, plugin, digest string, a store.Answer) {
		ask(id, plugin, digest)
		if _, err := s.Allow(ctx, id, a); err != nil {
			t.Fatal(err)
		}
	}
	allow("1", "p", "old", store.Answer{})
	allow("2", "p", "old", store.Answer{Once: true})
	allow("3", "q", "old", store.Answer{})
	allow("4", "p", "older", store.Answer{})
	ask("5", "p", "old")
	ask("6", "p", "new")
	ask("7", "q", "old")
	if n, err := s.Carry(ctx, "p", "old", "new"); n != 1 || err != nil {
		t.Errorf("carry: got %d grants, %v, want 1", n, err)
	}
	if err := errors.Join(s.Forget(ctx, "p", "new"), s.Prune(ctx, "p", "new")); err != nil {
		t.Fatal(err)
	}
	var left string
	grants, err := s.Grants(ctx)
	for _, g := range grants {
		left += g.ID + g.Plugin + g.Digest + " "
	}
	questions, asked := s.Questions(ctx)
	for _, q := range questions {
		left += q.ID + " "
	}
	if err = errors.Join(err, asked); err != nil || left != "1pnew 3qold 6 7 " {
		t.Errorf("after the carry: got %q, %v, want 1pnew 3qold 6 7", left, err)
	}
}
