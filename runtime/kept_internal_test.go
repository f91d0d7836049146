package runtime

import (
	"fmt"
	"testing"
	"time"
)

// The owner with the most bytes loses its least recently used instance, and no other owner does.
func TestKept_evictsFromTheLargestOwner(t *testing.T) {
	k := &kept{max: 1 << 40}
	add := func(caller string, n int, bytes uint64) {
		for i := range n {
			h := &keeper{key: keptKey{session: fmt.Sprint(caller, i)}, owner: keptOwner{caller: caller}, bytes: bytes}
			h.used = time.Now()
			k.add(h)
		}
	}
	add("ada", 2, 10) // the least recently used of all
	add("eve", 5, 10)
	add("bob", 1, 30)
	for i, want := range []string{"eve0", "eve1"} {
		if s := k.spare(); s.key.session != want {
			t.Fatalf("%d: got %+v, want session %s", i, s.key, want)
		} else {
			k.lose(s, "of the test")
		}
	}
	add("bob", 1, 1) // replaces the one it had
	if s := k.spare(); s.owner.caller != "bob" {
		t.Errorf("got %+v, want one of bob", s)
	}
	if in, why := k.take(keptKey{session: "eve0"}); in != nil || why != "of the test" {
		t.Errorf("got %v, %q; want nil, \"of the test\"", in, why)
	}
	if in, why := k.take(keptKey{session: "eve0"}); in != nil || why != "" {
		t.Errorf("a loss is told twice: got %v, %q; want nil, \"\"", in, why)
	}
}

// The record of evictions is bounded.
func TestKept_boundsTheRecordOfEvictions(t *testing.T) {
	k := &kept{}
	for i := range maxLost + 3 {
		h := &keeper{key: keptKey{session: fmt.Sprint(i)}}
		k.add(h)
		k.lose(h, "of the test")
	}
	if len(k.lost) != maxLost || k.order.Len() != maxLost || k.bytes != 0 || len(k.of) != 0 {
		t.Errorf("got %d lost, %d in order, %d bytes, %d owners; want %d, %d, 0, 0", len(k.lost), k.order.Len(), k.bytes, len(k.of), maxLost, maxLost)
	}
	if _, why := k.take(keptKey{session: "2"}); why != "" {
		t.Errorf("oldest: got reason %q, want none", why)
	}
	k.timer.Stop()
}
