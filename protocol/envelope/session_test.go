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
		t.Error("a session is somebody else's, or not its caller's")
	}
	now = now.Add(idle)
	if !s.Use("ada", first) {
		t.Error("it is over before its time")
	}
	now = now.Add(idle + time.Second)
	if s.Use("ada", first) {
		t.Error("it is there after its time")
	}
	kept := s.Begin("ada")
	if len(s.all) != 1 {
		t.Errorf("got %d sessions, want 1", len(s.all))
	}
	second := s.Begin("ada")
	now = now.Add(time.Second)
	if !s.Use("ada", kept) {
		t.Error("it has gone")
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
		t.Error("there are more than the most, or somebody gave way to others")
	}
}
