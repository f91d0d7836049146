package consent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// question returns a question about address n.
func question(n int) store.Question {
	return store.Question{Plugin: "p", Digest: "d", Principal: "me", Line: fmt.Sprintf("net: GET https://a/%d", n), Effect: fmt.Sprintf("GET https://a/%d", n)}
}

// desks returns the desks of two processes with one folder, and the questions reported to the first.
func desks(t *testing.T) (here, there *consent.Desk, answers *store.Store, told *[]string) {
	dir := t.TempDir()
	told = &[]string{}
	open := func() *store.Store {
		s := store.New(store.Options{Dir: dir})
		t.Cleanup(func() { s.Close() })
		return s
	}
	here = consent.New(consent.Options{Store: open(), Wait: true, Told: func(q store.Question) { *told = append(*told, q.Effect) }})
	return here, consent.New(consent.Options{Store: open()}), open(), told
}

func TestDesk_anotherProcessAnswers(t *testing.T) {
	here, there, answers, told := desks(t)
	ctx := t.Context()
	q, v := here.Ask(ctx, question(1))
	if v != consent.Asked || len(q.ID) != 8 {
		t.Fatalf("first question: got %v, verdict %v, want an ID of 8, verdict %v", q, v, consent.Asked)
	}
	if again, v := there.Ask(ctx, question(1)); v != consent.Asked || again.ID != q.ID {
		t.Errorf("the same question: got %v, verdict %v, want ID %s, verdict %v", again, v, q.ID, consent.Asked)
	}
	if fmt.Sprint(*told) != "[GET https://a/1]" {
		t.Errorf("got %v told, want only GET https://a/1", *told)
	}
	waited := make(chan consent.Verdict)
	go func() { waited <- here.Wait(ctx, q.ID) }()
	if _, err := answers.Allow(ctx, q.ID, store.Answer{}); err != nil {
		t.Fatal(err)
	}
	if v := <-waited; v != consent.Allowed {
		t.Errorf("wait for an answer: got %v, want %v", v, consent.Allowed)
	}
	for _, d := range []*consent.Desk{here, there} {
		if g := d.Grants(ctx, "p", "d", "me"); len(g) != 1 || g[0].Line != "net: GET https://a/1" {
			t.Errorf("got grants %v, want only net: GET https://a/1", g)
		}
		for _, other := range [][3]string{{"p", "d", "you"}, {"p", "other bytes", "me"}, {"q", "d", "me"}} {
			if g := d.Grants(ctx, other[0], other[1], other[2]); len(g) != 0 {
				t.Errorf("%v: got grants %v, want none", other, g)
			}
		}
	}
}

// An answer of this process is valid for its next call, even if the cache is recent.
func TestDesk_ownAnswersAtOnce(t *testing.T) {
	ctx := t.Context()
	s := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { s.Close() })
	now := time.Now() // a fixed time
	d := consent.New(consent.Options{Store: s, Now: func() time.Time { return now }})
	q, _ := d.Ask(ctx, question(1))
	have := func(want int) {
		t.Helper()
		if g := d.Grants(ctx, "p", "d", "me"); len(g) != want {
			t.Errorf("%d answers, want %d", len(g), want)
		}
	}
	have(0)
	if _, err := s.Allow(ctx, q.ID, store.Answer{}); err != nil {
		t.Fatal(err)
	}
	have(1)
	if _, err := s.Revoke(ctx, q.ID); err != nil {
		t.Fatal(err)
	}
	have(0)
}

func TestDesk_refused(t *testing.T) {
	here, there, answers, told := desks(t)
	q, _ := here.Ask(t.Context(), question(1))
	if err := answers.Deny(t.Context(), q.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if v := here.Wait(t.Context(), q.ID); v != consent.Refused {
		t.Errorf("wait for a refusal: got %v, want %v", v, consent.Refused)
	}
	for _, d := range []*consent.Desk{here, there} {
		if _, v := d.Ask(t.Context(), question(1)); v != consent.Refused {
			t.Errorf("asked after a refusal: got %v, want %v", v, consent.Refused)
		}
	}
	if len(*told) != 1 {
		t.Errorf("got %v told, want one", *told)
	}
}

func TestDesk_waitEnds(t *testing.T) {
	here, _, _, _ := desks(t)
	q, _ := here.Ask(t.Context(), question(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v := here.Wait(ctx, q.ID); v != consent.Asked {
		t.Errorf("wait of an ended call: got %v, want %v", v, consent.Asked)
	}
}

// Only one of all calls in all processes takes a one-time grant.
func TestDesk_takeOnce(t *testing.T) {
	here, there, answers, _ := desks(t)
	q, _ := here.Ask(t.Context(), question(1))
	if _, err := answers.Allow(t.Context(), q.ID, store.Answer{Once: true}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var taken int
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if []*consent.Desk{here, there}[i%2].Take(t.Context(), q.ID) {
				mu.Lock()
				defer mu.Unlock()
				taken++
			}
		})
	}
	all.Wait()
	if taken != 1 {
		t.Errorf("got it taken %d times, want once", taken)
	}
}

// A revocation while an effect holds a one-time grant outlasts the effect's failure, which gives it back.
func TestDesk_givesBackNothingRevoked(t *testing.T) {
	here, there, answers, _ := desks(t)
	q, _ := here.Ask(t.Context(), question(1))
	g, err := answers.Allow(t.Context(), q.ID, store.Answer{Once: true})
	if err != nil {
		t.Fatal(err)
	}
	if !here.Take(t.Context(), q.ID) {
		t.Fatal("take: got false, want true")
	}
	if err := (&consent.Answers{Store: answers}).Revoke(t.Context(), q.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoke of a taken grant: got %v, want %v", err, store.ErrNotFound)
	}
	here.Give(t.Context(), g)
	if here.Take(t.Context(), q.ID) || there.Take(t.Context(), q.ID) {
		t.Error("take after the revoke: got true, want false")
	}
}

// A plugin that asks ten thousand questions gets twenty through.
func TestDesk_tooMany(t *testing.T) {
	here, _, _, told := desks(t)
	verdicts := map[consent.Verdict]int{}
	for i := range 30 {
		for range 3 {
			_, v := here.Ask(t.Context(), question(i))
			verdicts[v]++
		}
	}
	if verdicts[consent.Asked] != 60 || verdicts[consent.Crowded] != 30 || len(*told) != 20 {
		t.Errorf("got verdicts %v, %d told, want 60 asked, 30 crowded, 20 told", verdicts, len(*told))
	}
}

// A store that cannot be read allows nothing, and no call waits for it.
func TestDesk_storeFails(t *testing.T) {
	s := store.New(store.Options{Dir: t.TempDir()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d := consent.New(consent.Options{Store: s})
	if _, v := d.Ask(t.Context(), question(1)); v != consent.Unasked {
		t.Errorf("ask with a closed store: got %v, want %v", v, consent.Unasked)
	}
	if d.Take(t.Context(), "x") || len(d.Grants(t.Context(), "p", "d", "me")) != 0 {
		t.Errorf("a closed store: got a grant, want none")
	}
	if _, err := s.Grants(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}
