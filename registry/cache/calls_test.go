package cache

import (
	"fmt"
	"os"
	"testing"
)

func TestCache_countsCallsOverAllRuns(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		Open(dir, discard()).AddCalls(map[string]uint64{"a": 3, "b": 1})
	}
	c := Open(dir, discard())
	for digest, want := range map[string]uint64{"a": 6, "b": 2, "c": 0} {
		if got := c.Calls(digest); got != want {
			t.Errorf("%s: got %d calls, want %d", digest, got, want)
		}
	}
	c.AddCalls(map[string]uint64{"c": 1})
	if got := c.Calls("c"); got != 1 {
		t.Errorf("in this run: got %d calls, want 1", got)
	}
	for n, want := range []string{"[]", "[a]", "[a b]", "[a b c]", "[a b c]"} {
		if got := fmt.Sprint(Open(dir, discard()).MostCalled(n)); got != want {
			t.Errorf("the %d most called: got %s, want %s", n, got, want)
		}
	}
	if got := Open("", discard()).MostCalled(1); len(got) > 0 {
		t.Errorf("most called of none: got %q, want none", got)
	}
}

func TestCache_damagedCountsAreDropped(t *testing.T) {
	dir := t.TempDir()
	c := Open(dir, discard())
	for _, damaged := range []string{"", "null", "{}", `{"version":3}`, `{"version":2,"calls":{"a":5}}`} {
		if err := os.WriteFile(c.callsFile(), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		again := Open(dir, discard())
		if got := again.Calls("a"); got != 0 {
			t.Errorf("%q: got %d calls, want 0", damaged, got)
		}
		again.AddCalls(map[string]uint64{"a": 2})
		if got := Open(dir, discard()).Calls("a"); got != 2 {
			t.Errorf("%q, written again: got %d calls, want 2", damaged, got)
		}
	}
}

func TestCache_fadesCounts(t *testing.T) {
	all := map[string]uint64{"much": 3 * maxCalls, "some": 8, "once": 1}
	fade(all)
	if got, want := fmt.Sprint(all), fmt.Sprint(map[string]uint64{"much": 3 * maxCalls / 4, "some": 2}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	many := map[string]uint64{"often": 1000}
	for i := range maxCached {
		many[fmt.Sprint(i)] = 1
	}
	if fade(many); len(many) != 1 || many["often"] != 500 {
		t.Errorf("got %d counts and %d, want 1 and 500", len(many), many["often"])
	}
}
