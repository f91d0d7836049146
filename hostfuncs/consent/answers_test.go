package consent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// answering returns an Answers over a new store, and the list of its recorded answers.
func answering(t *testing.T) (*consent.Answers, *[]string) {
	s := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { s.Close() })
	var noted []string
	a := &consent.Answers{Store: s, By: consent.ByTerminal, Note: func(a consent.Answered) error {
		line := "{" + string(a.Members()) + "}"
		if !json.Valid([]byte(line)) {
			t.Errorf("got note %s, want JSON", line)
		}
		noted = append(noted, line)
		return nil
	}}
	return a, &noted
}

// asks stores a question about one line.
func asks(t *testing.T, a *consent.Answers, id, line, want string) {
	t.Helper()
	_, err := a.Store.Ask(t.Context(), store.Question{ID: id, Plugin: "p", Digest: "sha256:1", Principal: "me", Line: line, Want: want,
		Effect: "do " + id, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
}

// left returns the current grants and questions.
func left(t *testing.T, a *consent.Answers) string {
	t.Helper()
	grants, err := a.Store.Grants(t.Context())
	questions, other := a.Store.Questions(t.Context())
	if err = errors.Join(err, other); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, g := range grants {
		all = append(all, g.ID)
	}
	slices.Sort(all)
	for _, q := range questions {
		all = append(all, "?"+q.ID)
	}
	return strings.Join(all, " ")
}

// An answer replaces answers that it covers and that expire no later, and questions that it covers.
func TestAnswers_coverOthers(t *testing.T) {
	a, _ := answering(t)
	ctx, soon := t.Context(), time.Now().Add(time.Hour)
	allow := func(id string, how store.Answer) {
		t.Helper()
		if _, err := a.Allow(ctx, id, how); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range []string{"fs: read ~/work/a", "fs: write ~/work/a", "fs: write ~/work/b", "fs: write ~/other", "net: GET https://a.example/"} {
		asks(t, a, fmt.Sprint("q", i), line, "fs: write ~/work/**")
	}
	allow("q0", store.Answer{Once: true, Expires: soon})
	allow("q3", store.Answer{})
	if got := left(t, a); got != "q0 q3 ?q1 ?q2 ?q4" {
		t.Errorf("unlike questions: got %q, want q0 q3 ?q1 ?q2 ?q4", got)
	}
	allow("q1", store.Answer{}) // write includes read
	if got := left(t, a); got != "q1 q3 ?q2 ?q4" {
		t.Errorf("write allowed, which includes read: got %q, want q1 q3 ?q2 ?q4", got)
	}
	allow("q2", store.Answer{Want: true, Expires: soon}) // expires before the others
	if got := left(t, a); got != "q1 q2 q3" {
		t.Errorf("an answer that expires first: got %q, want q1 q2 q3", got)
	}
	asks(t, a, "q5", "fs: write ~/work/c", "fs: write ~/work/**")
	allow("q5", store.Answer{Want: true})
	if got := left(t, a); got != "q3 q5" {
		t.Errorf("a wider answer: got %q, want q3 q5", got)
	}
}

// Each answer is recorded with its caller, question, digest and expiry. A failed one is not.
func TestAnswers_noted(t *testing.T) {
	a, noted := answering(t)
	until := time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)
	asks(t, a, "one", `fs: read ~/"x`, "")
	asks(t, a, "two", "fs: read ~/y", "")
	_, allowed := a.Allow(t.Context(), "one", store.Answer{Once: true, Expires: until})
	for i, err := range []error{
		allowed, a.Deny(t.Context(), "two", until), a.Revoke(t.Context(), "one"), a.Revoke(t.Context(), "two"),
	} {
		if err != nil {
			t.Errorf("answer %d: got %v, want success", i, err)
		}
	}
	_, again := a.Allow(t.Context(), "one", store.Answer{})
	for i, err := range []error{again, a.Deny(t.Context(), "none", until), a.Revoke(t.Context(), "one"), a.Revoke(t.Context(), "none")} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("answer %d of no question: got %v, want %v", i, err, store.ErrNotFound)
		}
	}
	who := `"event":"answer","by":"terminal","answer":`
	about := `,"plugin":"p","digest":"sha256:1","principal":"me","what":`
	want := []string{
		`{` + who + `"allow","question":"one"` + about + `"fs: read ~/\"x","once":true,"until":"2040-01-02T03:04:05Z"}`,
		`{` + who + `"deny","question":"two"` + about + `"do two","until":"2040-01-02T03:04:05Z"}`,
		`{` + who + `"revoke","question":"one"` + about + `"fs: read ~/\"x"}`,
		`{` + who + `"revoke","question":"two"` + about + `"do two"}`,
	}
	if !slices.Equal(*noted, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(*noted, "\n"), strings.Join(want, "\n"))
	}
	a.Note = func(consent.Answered) error { return context.DeadlineExceeded }
	asks(t, a, "three", "fs: read ~/z", "")
	if err := a.Deny(t.Context(), "three", until); err == nil || !strings.HasPrefix(err.Error(), "the answer holds, and the audit log has nothing of it") {
		t.Error(err)
	}
}

// The intents of a change are recorded before it, its outcome after it, under one ID each. Without the intents nothing is
// changed.
func TestChange_isRecordedBeforeAndAfter(t *testing.T) {
	full, broken := errors.New("no room"), errors.New("broken")
	both := []consent.Answered{{Answer: "add"}, {Answer: "grant"}}
	for _, c := range []struct {
		name   string
		change error // of the change
		unable int   // the line that cannot be recorded, 0 for none
		want   string
		error  error
	}{
		{"made", nil, 0, "intent add, intent grant, change, add, grant", nil},
		{"failed", broken, 0, "intent add, intent grant, change, failed add, failed grant", broken},
		{"no room", nil, 2, "intent add", full},
		{"no room for the outcome", nil, 4, "intent add, intent grant, change, add", full},
	} {
		var steps []string
		ids := map[string]int{}
		n := 0
		note := func(a consent.Answered) error {
			if n++; n == c.unable {
				return full
			}
			ids[a.Change]++
			steps = append(steps, strings.TrimSpace(a.Event+" "+a.Answer))
			return nil
		}
		err := consent.Change(note, func() error { steps = append(steps, "change"); return c.change }, both...)
		if got := strings.Join(steps, ", "); got != c.want || !errors.Is(err, c.error) {
			t.Errorf("%s: got %s, %v, want %s, %v", c.name, got, err, c.want, c.error)
		}
		if c.unable == 0 && (len(ids) != 2 || ids[""] > 0) {
			t.Errorf("%s: got IDs %v, want one for each answer", c.name, ids)
		}
	}
}
