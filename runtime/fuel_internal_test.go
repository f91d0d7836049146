package runtime

import (
	"context"
	"testing"
	"time"
)

// A guest that computes notes so once in a while, not at each refill.
func TestCallContext_isLongOnceInAWhile(t *testing.T) {
	c, got := newStart(context.Background(), nil, Limits{}), 0
	begun := c.noted
	for since := time.Microsecond; since <= 10*long; since += time.Microsecond {
		if c.isLong(begun.Add(since)) {
			got++
		}
	}
	if got != 10 {
		t.Errorf("noted %d times in %v, want 10", got, 10*long)
	}
}
