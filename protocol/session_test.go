package protocol

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestSessions(t *testing.T) {
	now := time.Now()
	s := sessions{now: func() time.Time { return now }}
	first := s.mint("ada")
	if s.use("eve", first) || s.use("ada", "guess") || !s.use("ada", first) {
		t.Error("a session is somebody else's, or not its caller's")
	}
	now = now.Add(idleHandle)
	if !s.use("ada", first) {
		t.Error("it is over before its time")
	}
	now = now.Add(idleHandle + time.Second)
	if s.use("ada", first) {
		t.Error("it is there after its time")
	}
	kept := s.mint("ada")
	if len(s.all) != 1 {
		t.Errorf("%d are kept", len(s.all))
	}
	second := s.mint("ada")
	now = now.Add(time.Second)
	if !s.use("ada", kept) {
		t.Error("it has gone")
	}
	for range maxHandles - 1 {
		now = now.Add(time.Second)
		s.mint("ada")
	}
	if s.use("ada", second) || !s.use("ada", kept) || len(s.all) != maxHandles {
		t.Errorf("of %d the one unused for longest does not give way", len(s.all))
	}
	for i := 0; len(s.all) < maxAllHandles; i++ {
		s.mint(fmt.Sprint(i / maxHandles))
	}
	if got := s.mint("late"); got != "" || !s.use("ada", kept) {
		t.Error("there are more than the most, or somebody gave way to others")
	}
}

// A session that begins is one of its own, whatever else the request says: of what is no call that asks, nothing brings
// a session along.
func TestFindSession_isItsOwn(t *testing.T) {
	server := &Server{}
	server.sessions.now = time.Now
	for _, method := range []string{"completion/complete", "resources/list"} {
		found := map[string]bool{}
		for _, who := range []string{"ada", "eve"} {
			r := &request{
				conn: &Conn{opts: ConnOptions{Principal: who}}, server: server, method: method, modern: true,
				params: json.RawMessage(`{"requestState":"x","_meta":{"dev.sallyport/session":"new"}}`),
			}
			if err := r.findSession(); err != nil || r.session == newSession || found[r.session] {
				t.Errorf("%s of %s: session %q, %v", method, who, r.session, err)
			}
			found[r.session] = true
		}
	}
}
