package catalog

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// Changes shortly after each other are coalesced; a watcher gets only changes since it began to watch.
func TestNotifier_coalescesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotifier()
		defer n.Close()
		var early, late []Change
		stop := n.Watch(func(c Change) { early = append(early, c) })
		n.Tell(Change{Tools: true})
		n.Tell(Change{}) // no change
		n.Updated("p", "a://x")
		defer n.Watch(func(c Change) { late = append(late, c) })()
		n.Tell(Change{Prompts: true})
		time.Sleep(2 * NotifyDelay)
		n.Updated("p", "a://y")
		time.Sleep(2 * NotifyDelay)
		stop()
		n.Tell(Change{Resources: true})
		time.Sleep(2 * NotifyDelay)
		synctest.Wait()
		x, y := map[string]bool{"a://x": true}, map[string]bool{"a://y": true}
		if want := []Change{{Tools: true, Prompts: true, Updated: x}, {Updated: y}}; !reflect.DeepEqual(early, want) {
			t.Errorf("the early one: %+v, want %+v", early, want)
		}
		if want := []Change{{Prompts: true}, {Updated: y}, {Resources: true}}; !reflect.DeepEqual(late, want) {
			t.Errorf("the late one: %+v, want %+v", late, want)
		}
	})
}

// A watcher may stop watching during its call.
func TestNotifier_canStopDuringItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotifier()
		defer n.Close()
		told := 0
		var stop func()
		stop = n.Watch(func(Change) {
			told++
			stop()
		})
		n.Tell(Change{Tools: true})
		time.Sleep(2 * NotifyDelay)
		n.Tell(Change{Tools: true})
		time.Sleep(2 * NotifyDelay)
		synctest.Wait()
		if told != 1 {
			t.Errorf("got %d calls, want 1", told)
		}
	})
}
