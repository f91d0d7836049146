package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A guest that computes notes so once in a while, not at each refill.
func TestCallContext_isLongOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newStart(context.Background(), nil, Limits{})
		got := 0
		for range 10 * long / time.Microsecond {
			time.Sleep(time.Microsecond)
			if c.isLong() {
				got++
			}
		}
		if got != 10 {
			t.Errorf("noted %d times in %v, want 10", got, 10*long)
		}
	})
}
