package streamable

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRateLimiter_refillsOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRateLimiter(10, 2)
		for _, want := range []time.Duration{0, 0, 100 * time.Millisecond, 100 * time.Millisecond} {
			if got := l.take("a"); got != want {
				t.Errorf("wait %v, want %v", got, want)
			}
		}
		if l.take("b") != 0 {
			t.Error("another key waits too")
		}
		time.Sleep(100 * time.Millisecond)
		if l.take("a") != 0 || l.take("a") == 0 {
			t.Error("one token came back")
		}
	})
}

func TestRateLimiter_boundsItsMemory(t *testing.T) {
	l := newRateLimiter(0.001, 1)
	l.max = 10
	l.take("first")
	for i := range 9 {
		l.take(fmt.Sprint(i))
	}
	if l.take("first") == 0 {
		t.Error("a full generation forgot a key")
	}
	for i := range 10_000 {
		l.take(fmt.Sprint(i))
		if n := len(l.young) + len(l.old); n > 2*l.max {
			t.Fatalf("%d keys", n)
		}
	}
	if l.take("first") != 0 {
		t.Error("a key from long ago is still limited")
	}
	if (*rateLimiter)(nil).take("x") != 0 || newRateLimiter(-1, 0).take("x") != 0 {
		t.Error("no limit limits")
	}
}
