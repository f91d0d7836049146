package envelope

import (
	"fmt"
	"testing"
	"time"
)

func TestSessions_expireAndAreLimited(t *testing.T) {
	now := time.Now()
	s := NewSessions(func() time.Time { return now })
	first := s.Begin("ada")
	if s.Use("eve", first) || s.Use("ada", "guess") || !s.Use("ada", first) {
		t.Errorf("got Use by eve %v, of a guess %v, by ada %v; want false, false, true", s.Use("eve", first), s.Use("ada", "guess"), s.Use("ada", first))
	}
	now = now.Add(idle)
	if !s.Use("ada", first) {
		t.Errorf("Use after %v = false, want true", idle)
	}
	now = now.Add(idle + time.Second)
	if s.Use("ada", first) {
		t.Errorf("Use after more than %v = true, want false", idle)
	}
	kept := s.Begin("ada")
	if len(s.all) != 1 {
		t.Errorf("got %d sessions, want 1", len(s.all))
	}
	second := s.Begin("ada")
	now = now.Add(time.Second)
	if !s.Use("ada", kept) {
		t.Error("Use of the kept session = false, want true")
	}
	for range maxOfOne - 1 {
		now = now.Add(time.Second)
		s.Begin("ada")
	}
	if s.Use("ada", second) || !s.Use("ada", kept) || len(s.all) != maxOfOne {
		t.Errorf("got %d sessions, want %d without the one unused for longest", len(s.all), maxOfOne)
	}
	for i := 0; len(s.all) < maxOfAll; i++ {
		s.Begin(fmt.Sprint(i / maxOfOne))
	}
	if got := s.Begin("late"); got != "" || !s.Use("ada", kept) {
		t.Errorf("got session %q over the limit, ada's own %v; want none, true", got, s.Use("ada", kept))
	}
}
