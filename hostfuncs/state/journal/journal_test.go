package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// beginning returns a journal with a fixed start time.
func beginning(now *time.Time) *Journal {
	j := &Journal{clock: clock{real: func() time.Time { return *now }}}
	if err := j.Bind([]byte("plugin")); err != nil {
		panic(err)
	}
	return j
}

// again returns the journal as decoded by a later run.
func again(t *testing.T, j *Journal) *Journal {
	t.Helper()
	raw := j.Append(nil)
	if len(raw) > j.Size() {
		t.Errorf("got %d bytes, want at most Size, %d", len(raw), j.Size())
	}
	next, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	next.real = j.real
	if got := next.Append(nil); !bytes.Equal(got, raw) {
		t.Errorf("decoded and encoded again: got\n%x\nwant\n%x", got, raw)
	}
	return next
}

func do(t *testing.T, j *Journal, family, request string) (outcome string, replay bool) {
	t.Helper()
	raw, replay, err := j.Next(family, []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), replay
}

func TestJournal_replay(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	j := beginning(&now)
	if _, replay := do(t, j, "fetch", "a"); replay {
		t.Error("first run: got a replay, want none")
	}
	now = now.Add(time.Second)
	j.Record([]byte("answer"), "fetch", []byte("a"))
	if j.Replaying() {
		t.Error("after a record: got a replay, want none")
	}
	do(t, j, "ask", "q")
	if err := j.Open("ask", []byte("q")); err != nil {
		t.Fatal(err)
	}

	now = now.Add(time.Hour)
	j = again(t, j)
	if outcome, replay := do(t, j, "fetch", "a"); !replay || outcome != "answer" {
		t.Errorf("fetch a: got replay %t with %q, want true with answer", replay, outcome)
	}
	if !j.Replaying() {
		t.Error("before the open question: got no replay, want one")
	}
	if _, replay := do(t, j, "ask", "q"); replay || j.Replaying() {
		t.Error("an open question: got a replay, want none")
	}
	j.Record([]byte("yes"), "ask", []byte("q"))
	if got := j.Now().Sub(now).Abs(); got > time.Millisecond {
		t.Errorf("clock after the question: got %v off, want at most %v", got, time.Millisecond)
	}
	j = again(t, j)
	do(t, j, "fetch", "a")
	if outcome, replay := do(t, j, "ask", "q"); !replay || outcome != "yes" {
		t.Errorf("the answer: got replay %t with %q, want true with yes", replay, outcome)
	}
}

// Both runs see the same time and random bytes, regardless of the time between them.
func TestJournal_world(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	live := func(j *Journal) (seen []string) {
		note := func() {
			var p [8]byte
			j.Read(p[:])
			seen = append(seen, j.Now().String(), time.Duration(j.Monotonic()).String(), string(p[:]))
		}
		note()
		wait := j.Sleep(time.Minute)
		if !j.Replaying() && wait != time.Minute || j.Replaying() && wait != 0 {
			t.Errorf("sleep while replaying %t: got %v, want %v live and 0 in a replay", j.Replaying(), wait, time.Minute)
		}
		note()
		if _, replay := do(t, j, "fetch", "a"); !replay {
			now = now.Add(3 * time.Minute)
			j.Record(nil, "fetch", []byte("a"))
		}
		note()
		return seen
	}
	j := beginning(&now)
	first := live(j)
	if err := j.Open("ask"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(24 * time.Hour)
	if second := live(again(t, j)); strings.Join(first, "\n") != strings.Join(second, "\n") {
		t.Errorf("run again: got %q, want %q", second, first)
	}
	if other := live(beginning(&now)); other[2] == first[2] {
		t.Errorf("two calls: got the same random numbers %q, want different ones", first[2])
	}
}

func TestJournal_diverged(t *testing.T) {
	now := time.Now()
	j := beginning(&now)
	j.Record(nil, "fetch", []byte("a"))
	if err := j.Open("ask", []byte("q")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ family, request, want string }{
		{"ask", "q", "its call 1 is ask when it is run again, and was fetch"},
		{"fetch", "b", "its call 1, fetch, has other contents when it is run again"},
	} {
		_, _, err := again(t, j).Next(tt.family, []byte(tt.request))
		var diverged *DivergedError
		if !errors.As(err, &diverged) || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	j = again(t, j)
	do(t, j, "fetch", "a")
	if _, _, err := j.Next("ask", []byte("another")); err == nil {
		t.Error("another question than before: got success, want an error")
	}
}

func TestJournal_observed(t *testing.T) {
	now := time.Now()
	j := beginning(&now)
	for _, look := range []string{"a", "b", "a"} {
		j.Observe([]byte("read"), []byte(look))
	}
	do(t, j, "ask", "q")
	if err := j.Open("ask", []byte("q")); err != nil {
		t.Fatal(err)
	}
	if size := len(j.Append(nil)); size > 200 {
		t.Errorf("three looks: got %d bytes, want at most 200", size)
	}
	for looks, want := range map[string]error{"a b a": nil, "a b c": ErrChanged, "a b": ErrChanged, "": errors.New("its call 1 is ask when it is run again, and was looking at files and keys")} {
		k := again(t, j)
		for _, look := range strings.Fields(looks) {
			k.Observe([]byte("read"), []byte(look))
		}
		_, _, err := k.Next("ask", []byte("q"))
		if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Errorf("%q: %v, want %v", looks, err, want)
		}
	}
}

func TestJournal_full(t *testing.T) {
	now := time.Now()
	j := beginning(&now)
	j.Record(make([]byte, j.Reserve()-100), "fetch")
	if err := j.Open("ask"); err != nil {
		t.Errorf("a question that just fits: got %v, want success", err)
	}
	j.Record(make([]byte, j.Reserve()+1), "fetch")
	if j.Reserve() != 0 || j.Replaying() {
		t.Errorf("full: got %d bytes of room, replaying %t, want 0, false", j.Reserve(), j.Replaying())
	}
	j.Record(nil, "fetch") // the call continues
	if err := j.Open("ask"); err != ErrFull {
		t.Errorf("a question in a full journal: got %v, want %v", err, ErrFull)
	}
}

func TestJournal_bindRejectsOtherGrants(t *testing.T) {
	now := time.Now()
	j := beginning(&now)
	if err := again(t, j).Bind([]byte("plugin")); err != nil {
		t.Error(err)
	}
	if err := again(t, j).Bind([]byte("another")); err != ErrOther {
		t.Errorf("bound to another call: got %v, want %v", err, ErrOther)
	}
	if New().Bound() || !j.Bound() {
		t.Errorf("bound: got new %t, kept %t, want false, true", New().Bound(), j.Bound())
	}
}

// A decoded journal encodes to the same bytes, and nothing panics.
func FuzzDecode(f *testing.F) {
	now := time.Unix(0, 0)
	j := beginning(&now)
	j.Record([]byte("answer"), "fetch", []byte("a"))
	_ = j.Open("ask", []byte("q"))
	f.Add(j.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		j, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := Decode(j.Append(nil))
		if err != nil || !bytes.Equal(again.Append(nil), j.Append(nil)) {
			t.Errorf("%x decoded: got another journal, %v, want the same", raw, err)
		}
		for range 3 {
			if _, replay, err := j.Next("fetch", []byte("a")); !replay && err == nil {
				j.Record(nil, "fetch", []byte("a"))
			}
		}
	})
}
