package hostfuncs

import (
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Time and random numbers of a trial are those of the recorded call, and it does not wait.
func TestTrial_repeatsTimeAndRandomNumbers(t *testing.T) {
	clock := newClock()
	numbers := func(o *wasi.Options) (p [32]byte, now time.Time, wait time.Duration) {
		if _, err := o.Random.Read(p[:]); err != nil {
			t.Fatal(err)
		}
		wait = o.Sleep(time.Hour)
		return p, o.Now(), wait
	}
	var first, again wasi.Options
	(&tape{call: &Call{}, clock: clock}).settle(&first, false)
	newTape(&rules{call: &Call{Trial: &recording.Call{Clock: clock.Blank().Append(nil)}}}, nil).settle(&again, false)
	was, then, waited := numbers(&first)
	if is, now, wait := numbers(&again); is != was || !now.Equal(then) || waited != time.Hour || wait != 0 {
		t.Errorf("got %x at %v after %v, want %x at %v without a wait", is, now, wait, was, then)
	}
}

// A trial of a damaged clock has one of its own.
func TestTrial_survivesADamagedClock(t *testing.T) {
	var o wasi.Options
	newTape(&rules{call: &Call{Trial: &recording.Call{Clock: []byte("damaged")}}}, nil).settle(&o, false)
	if now := o.Now(); time.Since(now).Abs() > time.Hour {
		t.Errorf("got %v, want about now", now)
	}
}
