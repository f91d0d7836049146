package lock

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// described returns the terms of bytes, with a manifest.
func described(code string) Terms {
	t := terms(0, "x")
	t.Digest = fileid.Digest([]byte(code))
	t.Definitions[Manifest] = json.RawMessage(`{"config":{"of":"` + code + `"}}`)
	return t
}

// approved approves bytes under a name, with their copy.
func approved(t *testing.T, l *Lock, name, code string) Pin {
	t.Helper()
	of := described(code)
	pin := of.Pin(name + ".wasm")
	before, _ := l.Pin(name)
	if err := errors.Join(l.Copies.Put([]byte(code), of), l.Approve(t.Context(), name, before.Digest, pin)); err != nil {
		t.Fatal(err)
	}
	return pin
}

// A host that never saw the approved bytes of a pin gets them by their digest, with their terms and their manifest.
func TestShared_copiesReachOtherHosts(t *testing.T) {
	o := sharedOptions(t)
	pin := approved(t, open(t, o), "a", "the code")
	other := open(t, elsewhere(t, o))
	if got, _ := other.Pin("a"); got.Digest != pin.Digest || other.Copies.HasAll(got) {
		t.Fatalf("got %+v, want the pin without its copy", got)
	}
	if err := other.Copies.Fetch(t.Context(), pin); err != nil || !other.Copies.HasAll(pin) {
		t.Fatalf("got %v, want the copy", err)
	}
	raw, err := os.ReadFile(other.Copies.Path(pin.Digest))
	of, unread := other.Copies.Terms(pin.Digest)
	manifest, unmade := other.Copies.Manifest(pin.Definitions[Manifest])
	if err := errors.Join(err, unread, unmade); err != nil || string(raw) != "the code" || of.Imports[0] != "sallyport.call" || !strings.Contains(string(manifest), "the code") {
		t.Errorf("got %q, %+v, %s, %v, want those of the other host", raw, of, manifest, err)
	}
	if err := other.Copies.Fetch(t.Context(), described("unknown").Pin("a.wasm")); !errors.Is(err, ErrNotShared) {
		t.Errorf("bytes that nobody approved: got %v, want %v", err, ErrNotShared)
	}
}

// Bytes and manifests of the database that are not those of their digest never reach the folder of copies.
func TestShared_damagedCopiesAreRefused(t *testing.T) {
	for _, end := range []string{".wasm", manifestSuffix, ".json"} {
		o := sharedOptions(t)
		pin := approved(t, open(t, o), "a", "the code")
		hash := pin.Digest
		if end == manifestSuffix {
			hash = pin.Definitions[Manifest]
		}
		name, _ := digits(hash)
		r, err := o.Store.Get(t.Context(), store.Code, codeFolder+"/"+name+end)
		if err != nil {
			t.Fatal(err)
		}
		r.Data = []byte(`{"digest":"` + digest(1) + `"}`)
		if _, err := o.Store.Replace(t.Context(), store.Code, r); err != nil {
			t.Fatal(err)
		}
		other := open(t, elsewhere(t, o))
		err = other.Copies.Fetch(t.Context(), pin)
		if err == nil || !strings.Contains(err.Error(), "are not those of their digest") || other.Copies.Has(pin.Digest) {
			t.Errorf("%s: got %v, want it refused", end, err)
		}
	}
}

// Bytes are pinned only if other hosts can get them: a copy that was damaged on this disk is no approval.
func TestShared_approvesNothingWithoutItsBytes(t *testing.T) {
	o := sharedOptions(t)
	l, of := open(t, o), described("the code")
	if err := errors.Join(l.Copies.Put([]byte("the code"), of), os.WriteFile(l.Copies.Path(of.Digest), []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	pin := of.Pin("a.wasm")
	if err := l.Approve(t.Context(), "a", "", pin); err == nil {
		t.Error("approve: got success, want an error")
	}
	l.Trust("b", pin)
	if err := l.Save(t.Context()); err == nil {
		t.Error("save: got success, want an error")
	}
	if names := open(t, elsewhere(t, o)).Names(); len(names) > 0 {
		t.Errorf("got pins %v, want none", names)
	}
}

// Copies of replaced bytes go after a time, those that a pin needs stay.
func TestShared_prunesWhatNoPinNeeds(t *testing.T) {
	o := sharedOptions(t)
	l := open(t, o)
	old := approved(t, l, "a", "old")
	other := open(t, elsewhere(t, o)) // knows of the old pin only
	now := approved(t, l, "a", "new")
	if n, err := other.PruneShared(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("within the time: got %d, %v, want 0", n, err)
	}
	if n, err := other.PruneShared(t.Context(), 0); n != 3 || err != nil {
		t.Errorf("got %d, %v, want the code, its terms and its manifest", n, err)
	}
	if err := other.Copies.Fetch(t.Context(), old); !errors.Is(err, ErrNotShared) {
		t.Errorf("replaced bytes: got %v, want %v", err, ErrNotShared)
	}
	if err := other.Copies.Fetch(t.Context(), now); err != nil {
		t.Errorf("approved bytes: got %v, want success", err)
	}
}

// One copy that was damaged keeps its own plugin from being pinned, and no other.
func TestShared_pinsWhatHasItsBytes(t *testing.T) {
	l := open(t, sharedOptions(t))
	for name, code := range map[string]string{"bad": "torn", "good": "good"} {
		of := described(name)
		if err := l.Copies.Put([]byte(code), of); err != nil {
			t.Fatal(err)
		}
		l.Trust(name, of.Pin(name+".wasm"))
	}
	if err := l.Save(t.Context()); err == nil || !strings.Contains(err.Error(), `plugin "bad": `) || l.Unsaved("good") || !l.Unsaved("bad") {
		t.Errorf("got %v, want only the good one pinned", err)
	}
}

// A lock file is brought to the database once: a pin that was removed there does not come back from the disk of another host.
func TestShared_aLockFileBringsNoPinBack(t *testing.T) {
	o := sharedOptions(t)
	of := elsewhere(t, o)
	if err := open(t, Options{File: of.File}).Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	wantDigest(t, open(t, of), "a", digest(1))
	l := open(t, o)
	wantDigest(t, l, "a", digest(1))
	if err := l.Forget(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantDigest(t, open(t, of), "a", "")
}

// A prune before any write of an approval leaves the new pin with its copy, whether the copy is new or was there before.
func TestShared_pruneLeavesTheCopiesOfNewPins(t *testing.T) {
	of := described("the code")
	pin := of.Pin("b.wasm")
	for name, approve := range map[string]func(*Lock) error{
		"approve": func(l *Lock) error { return l.Approve(t.Context(), "b", "", pin) },
		"save":    func(l *Lock) error { l.Trust("b", pin); return l.Save(t.Context()) },
	} {
		for _, before := range []bool{false, true} {
			for moment, pruned := 1, true; pruned; moment++ {
				pruned = false
				o := fileOptions(t)
				so := storetest.Options(t, filepath.Join(t.TempDir(), "store"))
				o.Store = storetest.Open(t, so)
				other := open(t, o)
				approved(t, other, "a", "other")
				writes := 0
				so.Reached = func(step string) (err error) {
					if step == "begin" {
						writes++
					}
					if writes == moment && !pruned {
						pruned = true
						_, err = other.PruneShared(t.Context(), 0)
					}
					return err
				}
				here := fileOptions(t)
				here.Store = storetest.Open(t, so)
				l := open(t, here)
				err := errors.Join(other.Copies.Put([]byte("the code"), of), l.Copies.Put([]byte("the code"), of))
				if before {
					err = errors.Join(err, other.Copies.Send(t.Context(), pin))
				}
				if err := errors.Join(err, approve(l)); err != nil {
					t.Fatal(err)
				}
				if err := open(t, elsewhere(t, o)).Copies.Fetch(t.Context(), pin); err != nil {
					t.Errorf("%s, copy there before: %v, pruned before write %d: got %v, want the copy", name, before, moment, err)
				}
			}
		}
	}
}
