package runtime

import (
	"fmt"
	"testing"
	"time"
)

// Whoever has many sessions takes away no other caller's; what is in use stays.
func TestKept_spare(t *testing.T) {
	begin := time.Now()
	k := &kept{sessions: map[string]*keeper{}}
	add := func(caller string, n, users int, age time.Duration) {
		for i := range n {
			name := fmt.Sprint(caller, len(k.sessions), i)
			k.sessions[name] = &keeper{name: name, caller: caller, users: users, used: begin.Add(-age + time.Duration(i)*time.Second)}
		}
	}
	add("ada", 2, 0, time.Hour) // unused for longest of all
	add("eve", 5, 0, time.Minute)
	add("bob", 9, 1, time.Hour) // in use
	for i := range 3 {
		s := k.spare()
		if s == nil || s.caller != "eve" || !s.used.Equal(begin.Add(-time.Minute+time.Duration(i)*time.Second)) {
			t.Fatalf("%d: %+v", i, s)
		}
		delete(k.sessions, s.name)
	}
	if s := k.spare(); s == nil || s.caller != "ada" { // now they have as many, and hers are older
		t.Errorf("%+v", s)
	}
	for name, s := range k.sessions {
		if s.users == 0 {
			delete(k.sessions, name)
		}
	}
	if s := k.spare(); s != nil {
		t.Errorf("what is in use gives way: %+v", s)
	}
}
