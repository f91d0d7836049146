package notify

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// Changes shortly after each other are coalesced; a watcher gets only changes since it began to watch.
func TestNotifier_Coalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		defer n.Close()
		var early, late []catalog.Change
		stop := n.Watch(func(c catalog.Change) { early = append(early, c) })
		n.Tell(catalog.Change{Tools: true})
		n.Tell(catalog.Change{}) // no change
		n.Updated("p", "a://x")
		defer n.Watch(func(c catalog.Change) { late = append(late, c) })()
		n.Tell(catalog.Change{Prompts: true})
		time.Sleep(2 * Delay)
		n.Updated("p", "a://y")
		time.Sleep(2 * Delay)
		stop()
		n.Tell(catalog.Change{Resources: true})
		time.Sleep(2 * Delay)
		synctest.Wait()
		x, y := map[string]bool{"a://x": true}, map[string]bool{"a://y": true}
		if want := []catalog.Change{{Tools: true, Prompts: true, Updated: x}, {Updated: y}}; !reflect.DeepEqual(early, want) {
			t.Errorf("the early one: %+v, want %+v", early, want)
		}
		if want := []catalog.Change{{Prompts: true}, {Updated: y}, {Resources: true}}; !reflect.DeepEqual(late, want) {
			t.Errorf("the late one: %+v, want %+v", late, want)
		}
	})
}

// A watcher may stop watching during its call.
func TestNotifier_StopsWhileItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		defer n.Close()
		told := 0
		var stop func()
		stop = n.Watch(func(catalog.Change) {
			told++
			stop()
		})
		n.Tell(catalog.Change{Tools: true})
		time.Sleep(2 * Delay)
		n.Tell(catalog.Change{Tools: true})
		time.Sleep(2 * Delay)
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}
