//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
)

// entry returns an entry of the index for the plugin speaker.
func (i *indexed) entry(from, digest string) string {
	return fmt.Sprintf(`{"name":"speaker","source":%q,"digest":%q}`, from, digest)
}

// outdated returns the line that list prints for the plugin.
func (i *indexed) outdated() string {
	i.t.Helper()
	out, err := i.program("list", i.dir, "--outdated").Output()
	if err != nil {
		i.t.Fatalf("list --outdated: got %s, %v, want success", out, err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func (i *indexed) add() {
	i.t.Helper()
	if screen, out, code := typing(i.t, i.program("add", "speaker", i.dir, i.host()), "y"); code != 0 {
		i.t.Fatalf("add: got code %d, %s\n%s", code, out, screen)
	}
}

func TestUpdate_asksTheIndexThatNamedAPlugin(t *testing.T) {
	i := newIndexed(t)
	i.add()
	if out, err := i.program("update", i.dir, i.host()).CombinedOutput(); err != nil || string(out) != "speaker is up to date\n" {
		t.Errorf("update: got %s, %v, want nothing to do", out, err)
	}
	// The tag has other bytes, and the index does not name them.
	digest := i.hub.push("acme/speaker-2", "1", speaker("Speaks.", "two"))
	if got, want := i.outdated(), "speaker current "+i.from; got != want {
		t.Errorf("a moved tag: got %s, want %s", got, want)
	}
	if out, err := i.program("update", i.dir, i.host()).CombinedOutput(); err != nil || string(out) != "speaker is up to date\n" {
		t.Errorf("a moved tag: got %s, %v, want nothing to do", out, err)
	}
	for _, next := range []string{digest, i.hub.push("acme/speaker-2", "1", speaker("Speaks.", "three"))} { // the lock keeps the index each time
		i.write(i.entry(i.from, next))
		if got, want := i.outdated(), "speaker outdated "+i.from; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if screen, out, code := typing(t, i.program("update", i.dir, i.host()), "y"); code != 0 {
			t.Errorf("update: got code %d, %s\n%s", code, out, screen)
		}
		if got, want := i.outdated(), "speaker current "+i.from; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The operator never named the host of an entry, so it is refused once it is of a private network.
func TestUpdate_refusesAPrivateHostThatAnIndexNamed(t *testing.T) {
	i := newIndexed(t)
	i.add()
	i.write(i.entry(i.from, i.hub.push("acme/speaker-2", "1", speaker("Speaks.", "two"))))
	out, err := i.program("update", i.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a loopback address, which is refused") || !strings.Contains(string(out), "names it, if it is yours") {
		t.Errorf("got %s, %v, want the host refused", out, err)
	}
}

// An index that changes its mind moves no installed plugin.
func TestUpdate_refusesAnotherSourceOfAnIndex(t *testing.T) {
	i := newIndexed(t)
	i.add()
	other := i.hub.source("evil/speaker", "1")
	digest := i.hub.push("evil/speaker", "1", speaker("Speaks.", "two"))
	for name, c := range map[string]struct{ entries, want string }{
		"another source": {i.entry(other, digest), "names " + other + " as the source of speaker now, and it was added from " + i.from},
		"no entry":       {strings.Replace(i.entry(i.from, i.digest), "speaker", "talker", 1), "no index has a plugin of that name"},
		"two entries":    {i.entry(other, digest) + "," + i.entry(i.from, i.digest), "2 plugins have the name speaker"},
	} {
		i.write(c.entries)
		out, err := i.program("update", i.dir, i.host()).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), "hint: sallyport remove speaker, and sallyport add SOURCE") {
			t.Errorf("%s: got %s, %v, want %q with a hint", name, out, err, c.want)
		}
		if got := i.outdated(); !strings.Contains(got, "speaker unknown "+i.from) || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want it unknown with %q", name, got, c.want)
		}
	}
}
