package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// digest returns that of code(n).
func digest(n int) string { return fileid.Digest(code(n)) }

// code returns distinct bytes for each n.
func code(n int) []byte { return fmt.Appendf(nil, "code %d", n) }

func terms(n int, tools ...string) Terms {
	t := Terms{Digest: digest(n), Imports: []string{"sallyport.call"}, Definitions: map[string]json.RawMessage{}}
	for _, tool := range tools {
		t.Definitions["tool "+tool] = json.RawMessage(`{"name":"` + tool + `","description":"does ` + tool + `"}`)
	}
	return t
}

func open(t testing.TB, o Options) *Lock {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// options are those of a lock file, or with the tag postgres of a lock in a database: the tests that use them are the
// contract of both.
func options(t testing.TB) Options {
	t.Helper()
	o := fileOptions(t)
	if storetest.Postgres {
		o.Store = shared(t)
	}
	return o
}

func fileOptions(t testing.TB) Options {
	dir := t.TempDir()
	return Options{File: filepath.Join(dir, "sub", "sallyport.lock"), Keep: filepath.Join(dir, "approved")}
}

// shared returns a new store for the locks of several hosts.
func shared(t testing.TB) *store.Store {
	return storetest.Open(t, storetest.Options(t, filepath.Join(t.TempDir(), "store")))
}

// trust trusts a plugin with stored bytes.
func trust(t *testing.T, l *Lock, name string, seen Terms) {
	t.Helper()
	n := 0
	for digest(n) != seen.Digest {
		n++
	}
	if err := l.Copies.Put(code(n), seen); err != nil {
		t.Error(err)
	}
	l.Trust(name, seen.Pin(name+".wasm"))
}

func wantDigest(t *testing.T, l *Lock, name, want string) {
	t.Helper()
	if p, _ := l.Pin(name); p.Digest != want {
		t.Errorf("%s is pinned to %q, want %q", name, p.Digest, want)
	}
}

func TestTrust_pinsOnFirstUse(t *testing.T) {
	o := options(t)
	l := open(t, o)
	l.Trust("a", terms(1, "x").Pin("a.wasm"))
	l.Trust("a", terms(2, "x").Pin("a.wasm"))
	wantDigest(t, l, "a", digest(1))
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantDigest(t, open(t, o), "a", "") // its bytes are not stored yet
	if !l.Unsaved("a") {
		t.Error("Unsaved(\"a\") before a save = false, want true")
	}
	if err := l.Copies.Put(code(1), terms(1, "x")); err != nil {
		t.Fatal(err)
	}
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.Unsaved("a") {
		t.Error("Unsaved(\"a\") after a save = true, want false")
	}
	again := open(t, o)
	wantDigest(t, again, "a", digest(1))
	again.Trust("a", terms(2).Pin("a.wasm"))
	wantDigest(t, again, "a", digest(1))
}

func TestTrust_pinsFirstDefinitions(t *testing.T) {
	l := open(t, options(t))
	l.Trust("a", terms(1, "x").Pin("a.wasm"))
	changed := terms(1, "x", "y")
	changed.Definitions["tool x"] = json.RawMessage(`{"name":"x","description":"does something else"}`)
	l.Trust("a", changed.Pin("a.wasm"))
	p, _ := l.Pin("a")
	if p.Definitions["tool x"] != Hash(terms(1, "x").Definitions["tool x"]) || p.Definitions["tool y"] == "" {
		t.Errorf("got %+v, want p.Definitions[\"tool x\"] = Hash(terms(1, \"x\").Definitions[\"tool x\"]), p.Definitions[\"tool y\"] not \"\"", p.Definitions)
	}
}

func TestTrust_lockedPinsNothing(t *testing.T) {
	o := options(t)
	o.Locked = true
	l := open(t, o)
	l.Trust("a", terms(1).Pin("a.wasm"))
	if p, ok := l.Pin("a"); ok {
		t.Errorf("got pin %+v in a locked lock, want none", p)
	}
	if err := l.Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	wantDigest(t, l, "a", digest(1))
}

func TestLock_readOnlyWritesNothing(t *testing.T) {
	o := options(t)
	o.ReadOnly = true
	l := open(t, o)
	l.Trust("a", terms(1).Pin("a.wasm"))
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Copies.Put([]byte("x"), terms(1)); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(o.Keep), "*")); err != nil || len(left) > 0 {
		t.Errorf("got %v %v, want len(left) = 0", left, err)
	}
}

func TestReject_isNeverTrusted(t *testing.T) {
	o := options(t)
	l := open(t, o)
	if err := l.Reject(t.Context(), "a", digest(7)); err != nil {
		t.Fatal(err)
	}
	again := open(t, o)
	again.Trust("a", terms(7).Pin("a.wasm"))
	wantDigest(t, again, "a", "")
	again.Trust("a", terms(8).Pin("a.wasm"))
	wantDigest(t, again, "a", digest(8))
	if p, _ := again.Pin("a"); !p.Refused(digest(7)) {
		t.Errorf("got pin %+v, want one that refuses %s", p, digest(7))
	}
}

func TestReject_limitsDigests(t *testing.T) {
	var p Pin
	for n := range 3 * maxDigests {
		p = p.rejecting(digest(n))
	}
	if len(p.Rejected) != maxDigests || !p.Refused(digest(3*maxDigests-1)) {
		t.Errorf("got %d rejected digests, want %d with the last one", len(p.Rejected), maxDigests)
	}
}

func TestSave_keepsThePinOfAnotherProcess(t *testing.T) {
	o := options(t)
	a, b := open(t, o), open(t, o)
	trust(t, a, "p", terms(1))
	trust(t, b, "p", terms(2))
	for _, l := range []*Lock{a, b} {
		if err := l.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantDigest(t, b, "p", digest(1))
}

func TestRefresh_readsApprovals(t *testing.T) {
	o := options(t)
	a, b := open(t, o), open(t, o)
	a.Trust("p", terms(1).Pin("p.wasm"))
	a.Trust("q", terms(5).Pin("q.wasm"))
	if err := b.Approve(t.Context(), "p", "", terms(2).Pin("p.wasm")); err != nil {
		t.Fatal(err)
	}
	if changed, err := a.Refresh(t.Context()); !changed || err != nil {
		t.Fatalf("first refresh: got changed %v, %v; want true, no error", changed, err)
	}
	wantDigest(t, a, "p", digest(2))
	wantDigest(t, a, "q", digest(5)) // seen first here, and not in the file yet
	if changed, err := a.Refresh(t.Context()); changed || err != nil {
		t.Errorf("second refresh: got changed %v, %v; want false, no error", changed, err)
	}
}

// Refresh reports changes by a second process, also if this one has already read them during an update of its own.
func TestRefresh_reportsChangesFoundBySave(t *testing.T) {
	o := options(t)
	l := open(t, o)
	trust(t, l, "a", terms(1, "x"))
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if changed, err := l.Refresh(t.Context()); changed || err != nil {
		t.Errorf("refresh after its own save: got changed %v, %v; want false, no error", changed, err)
	}
	if err := open(t, o).Approve(t.Context(), "a", digest(1), terms(2, "x").Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	trust(t, l, "b", terms(3, "x"))
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantDigest(t, l, "a", digest(2))
	for _, want := range []bool{true, false} {
		if changed, err := l.Refresh(t.Context()); changed != want || err != nil {
			t.Errorf("changed %v, %v, want %v", changed, err, want)
		}
	}
}

// An update of this process during a refresh is not undone by the older pins that the refresh has read.
func TestRefresh_keepsAnUpdateMeanwhile(t *testing.T) {
	o := options(t)
	l := open(t, o)
	if err := open(t, o).Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	now, err := l.place.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same, _ := l.looked(now)
	pins, seen, err := l.place.read(t.Context())
	if same || err != nil {
		t.Fatalf("after an approval by a second process: got the same file, %v; want a changed one", err)
	}
	trust(t, l, "b", terms(2))
	if err := l.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.refresh(pins, now, seen)
	wantDigest(t, l, "a", digest(1))
	wantDigest(t, l, "b", digest(2))
}

// An approval is of the change that was shown: it does not replace bytes that were approved meanwhile.
func TestApprove_needsThePinBefore(t *testing.T) {
	l := open(t, options(t))
	approve := func(before string, n int) error {
		return l.Approve(t.Context(), "p", before, terms(n).Pin("p.wasm"))
	}
	for _, c := range []struct {
		before  string
		n, want int
		moved   bool
	}{
		{before: "", n: 1, want: 1}, {before: "", n: 2, want: 1, moved: true}, {before: digest(3), n: 4, want: 1, moved: true},
		{before: digest(3), n: 1, want: 1}, {before: digest(1), n: 4, want: 4}, {before: digest(1), n: 5, want: 4, moved: true},
	} {
		if err := approve(c.before, c.n); errors.Is(err, ErrMoved) != c.moved || !c.moved && err != nil {
			t.Errorf("%+v: got %v, want moved %v", c, err, c.moved)
		}
		wantDigest(t, l, "p", digest(c.want))
	}
}

// Without the operator, bytes that were rejected meanwhile are not approved, and none that others replaced: the rejections
// and the replaced bytes are known behind each approval.
func TestUpdate_leavesBytesToTheOperator(t *testing.T) {
	o := options(t)
	l, other := open(t, o), open(t, o)
	pin := func(n int) Pin { return terms(n).Pin("p.wasm") }
	if err := errors.Join(l.Approve(t.Context(), "p", "", pin(1)), l.Update(t.Context(), "p", digest(1), pin(2)), other.Reject(t.Context(), "p", digest(3))); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3} { // replaced, rejected
		if err := l.Update(t.Context(), "p", digest(2), pin(n)); !errors.Is(err, ErrRefused) {
			t.Errorf("code %d: got %v, want %v", n, err, ErrRefused)
		}
	}
	if err := errors.Join(l.Update(t.Context(), "p", digest(2), pin(4)), l.Approve(t.Context(), "p", digest(4), pin(1))); err != nil {
		t.Fatal(err)
	}
	again := open(t, o)
	wantDigest(t, again, "p", digest(1))
	if p, _ := again.Pin("p"); !p.Refused(digest(3)) || !slices.Equal(p.Replaced, []string{digest(2), digest(4)}) {
		t.Errorf("got rejected %v and replaced %v, want code 3, and codes 2 and 4", p.Rejected, p.Replaced)
	}
	if err := again.Approve(t.Context(), "p", digest(1), pin(3)); err != nil { // by the operator
		t.Fatal(err)
	}
	if p, _ := again.Pin("p"); p.Refused(digest(3)) {
		t.Error("approved bytes are rejected")
	}
}

// late is a place whose update returns behind a later one.
type late struct {
	place
	then func()
}

func (p late) update(ctx context.Context, send func(context.Context) error, change func(map[string]Pin)) (map[string]Pin, state, error) {
	pins, seen, err := p.place.update(ctx, send, change)
	p.then()
	return pins, seen, err
}

// An update that returns late does not put back the pins of before a later one.
func TestUpdate_thatReturnsLateHidesNoOther(t *testing.T) {
	l := open(t, sharedOptions(t))
	if err := l.Approve(t.Context(), "p", "", terms(1).Pin("p.wasm")); err != nil {
		t.Fatal(err)
	}
	real := l.place
	l.place = late{real, func() {
		l.place = real
		if err := l.Reject(t.Context(), "p", digest(7)); err != nil {
			t.Error(err)
		}
	}}
	if err := l.Reject(t.Context(), "q", digest(8)); err != nil {
		t.Fatal(err)
	}
	if p, _ := l.Pin("p"); !p.Refused(digest(7)) {
		t.Errorf("got %+v, want the rejection in force", p)
	}
}

// Concurrent updates of one file by many locks lose no pin.
func TestLock_concurrentUpdatesLoseNoPin(t *testing.T) {
	o := options(t)
	const n = 12
	var all sync.WaitGroup
	for i := range n {
		l := open(t, o)
		all.Go(func() {
			trust(t, l, fmt.Sprintf("p%d", i), terms(i+1))
			if err := l.Save(t.Context()); err != nil {
				t.Error(err)
			}
			if err := l.Reject(t.Context(), "shared", digest(100+i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l := open(t, o)
	for i := range n {
		wantDigest(t, l, fmt.Sprintf("p%d", i), digest(i+1))
	}
	if p, _ := l.Pin("shared"); len(p.Rejected) != n {
		t.Errorf("got %d rejected digests, want %d", len(p.Rejected), n)
	}
}

func TestOpen_brokenFileIsAnErrorAndStays(t *testing.T) {
	good, err := encode(map[string]Pin{"a": terms(1, "x").Pin("a.wasm")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"cut":           {string(good[:len(good)/2]), "unexpected end"},
		"empty":         {"", ""},
		"other version": {`{"version":2,"plugins":{}}`, "version 2"},
		"no digest":     {`{"version":1,"plugins":{"a":{}}}`, `plugin "a"`},
		"short digest":  {`{"version":1,"plugins":{"a":{"digest":"sha256:00"}}}`, `plugin "a"`},
		"unknown key":   {"{\"version\":1,\n\"plugins\":{\"a\":{\"digest\":\"" + digest(1) + "\",\n\"trusted\":true}}}", "line 3"},
		"twice":         {`{"version":1,"plugins":{},"plugins":{}}`, "twice"},
		"wrong kind":    {`{"version":1,"plugins":[]}`, "plugins cannot be a array"},
		"path":          {`{"version":1,"plugins":{"a":{"file":"../a","digest":"` + digest(1) + `"}}}`, "more than a name"},
		"want":          {`{"version":1,"plugins":{"a":{"wants":[1],"digest":"` + digest(1) + `"}}}`, "want"},
		"huge":          {strings.Repeat(" ", maxSize+1), "over 16 MiB"},
		"deep":          {strings.Repeat("[", 100_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := fileOptions(t)
			name := filepath.Join(t.TempDir(), "sallyport.lock")
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			l := open(t, o)
			trust(t, l, "b", terms(2))
			l.place = file(name)
			_, err := Open(Options{File: name})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
				t.Errorf("open: %v, want %q and the file", err, c.want)
			}
			if _, err := l.Refresh(t.Context()); err == nil {
				t.Error("refresh: got no error, want one")
			}
			if err := l.Save(t.Context()); err == nil {
				t.Error("save: got no error, want one")
			}
			wantDigest(t, l, "b", digest(2))
			if after, err := os.ReadFile(name); err != nil || string(after) != c.text {
				t.Errorf("got file %q, %v; want %q unchanged", after, err, c.text)
			}
		})
	}
}

func TestOpen_needsARegularFile(t *testing.T) {
	if _, err := Open(Options{File: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Error(err)
	}
}

func TestCopies_returnTheirTerms(t *testing.T) {
	l := open(t, options(t))
	want := terms(1, "x")
	if l.Copies.Has(want.Digest) {
		t.Errorf("Has(%s) before a copy is kept = true, want false", want.Digest)
	}
	if err := l.Copies.Put([]byte("wasm"), want); err != nil {
		t.Fatal(err)
	}
	got, err := l.Copies.Terms(want.Digest)
	if err != nil || len(Difference(want, got)) > 0 || !l.Copies.Has(want.Digest) {
		t.Errorf("got terms %+v, %v; want %+v", got, err, want)
	}
	if raw, err := os.ReadFile(l.Copies.Path(want.Digest)); err != nil || string(raw) != "wasm" {
		t.Errorf("got %q %v, want \"wasm\"", raw, err)
	}
	if got := l.Copies.Path("sha256:../../x"); got != "" {
		t.Errorf("got path %q for a digest that leaves the folder, want none", got)
	}
}

func TestCopies_expireUnlessUsed(t *testing.T) {
	l := open(t, options(t))
	age := func(n int) {
		old := time.Now().Add(-keepFor - time.Hour)
		if err := os.Chtimes(l.Copies.Path(digest(n)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= 2; n++ {
		if err := l.Copies.Put(code(n), terms(n)); err != nil {
			t.Fatal(err)
		}
	}
	age(1)
	age(2)
	if !l.Copies.Has(digest(1)) { // and thereby marked as used
		t.Fatal("Has(digest(1)) before the clean-up = false, want true")
	}
	if err := l.Copies.Put(code(3), terms(3)); err != nil {
		t.Fatal(err)
	}
	if !l.Copies.Has(digest(1)) || l.Copies.Has(digest(2)) || !l.Copies.Has(digest(3)) {
		t.Errorf("got copies 1, 2, 3 kept: %v, %v, %v; want true, false, true", l.Copies.Has(digest(1)), l.Copies.Has(digest(2)), l.Copies.Has(digest(3)))
	}
}

func TestLock_prunesCopiesThatNoPluginNeeds(t *testing.T) {
	l := open(t, options(t))
	for n := 1; n <= 3; n++ {
		if err := l.Copies.Put(code(n), terms(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, n := range []int{1, 2} {
		if err := os.Chtimes(l.Copies.Path(digest(n)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if files, freed := l.PruneCopies(time.Minute); files != 1 || freed != int64(len(code(2))) {
		t.Errorf("got %d files of %d bytes removed, want 1 of %d", files, freed, len(code(2)))
	}
	for n, want := range map[int]bool{1: true, 2: false, 3: true} {
		if got := l.Copies.Has(digest(n)); got != want {
			t.Errorf("copy %d is there: %v, want %v", n, got, want)
		}
	}
	if _, err := l.Copies.Terms(digest(2)); err == nil {
		t.Error("the terms of a removed copy stay")
	}
}

// FuzzParse: a parsed file is unchanged by encoding and parsing it again, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, p := range []map[string]Pin{nil, {"a": terms(1, "x", "y").Pin("a.wasm")}, {"b": {Rejected: []string{digest(3)}}}} {
		raw, err := encode(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"version":1,"plugins":{"a":{"digest":"sha256:00"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		pins, err := parse(raw)
		if err != nil {
			return
		}
		once, err := encode(pins)
		if err != nil {
			t.Fatalf("encode of the pins in %q: got %v, want no error", raw, err)
		}
		again, err := parse(once)
		if err != nil {
			t.Fatalf("Parse of the encoded %q: got %v, want no error", once, err)
		}
		if twice, err := encode(again); err != nil || string(twice) != string(once) {
			t.Errorf("encoded again: got %s, %v\nwant %s", twice, err, once)
		}
	})
}

// Of two hosts that see a name first, in two cases, one pins it.
func TestOtherCase_isTheSameName(t *testing.T) {
	o := options(t)
	one, two := open(t, o), open(t, o)
	trust(t, one, "a", terms(1))
	trust(t, one, "A", terms(2))
	trust(t, two, "A", terms(2))
	for _, l := range []*Lock{one, two} {
		if err := l.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []*Lock{one, two, open(t, o)} {
		wantDigest(t, l, "a", digest(1))
		if _, known := l.Pin("A"); known || l.Unsaved("A") || l.OtherCase("A") != "a" || l.OtherCase("a") != "" {
			t.Errorf("got pin of \"A\" %v, unsaved %v, other cases %q and %q; want false, false, \"a\" and \"\"", known, l.Unsaved("A"), l.OtherCase("A"), l.OtherCase("a"))
		}
		if err := l.Approve(t.Context(), "A", "", terms(2).Pin("A.wasm")); err == nil || err.Error() != "names that differ only in case are one name, and a is pinned: rename the file of A" {
			t.Errorf("got %v, want error = \"names that differ only in case are one name, and a is pinned: rename the file of A\"", err)
		}
	}
}
