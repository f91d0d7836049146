package jsonraw

import (
	"fmt"
	"strings"
	"testing"
)

// A deep text leaves no large stack behind, which every later walk would have to clear.
func TestDuplicates_dropLargeStacks(t *testing.T) {
	var object strings.Builder
	for i := range fewKeys {
		fmt.Fprintf(&object, `"k%d":0,`, i)
	}
	deep := strings.Repeat("{"+object.String()+`"in":`, 100) + "0" + strings.Repeat("}", 100)
	for range 10 {
		if path, twice := AmbiguousKey([]byte(deep)); twice {
			t.Fatalf("got the ambiguous key %q, want none", path)
		}
		w := walks.Get().(*duplicates)
		if cap(w.keys) > maxPooledKeys {
			t.Fatalf("got a stack of %d keys, want at most %d", cap(w.keys), maxPooledKeys)
		}
		walks.Put(w)
	}
}
