package registry

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// machines returns folders with state folders of their own, whose hosts share a lock in a database.
func machines(t *testing.T, n int) (all []*lockedFolder) {
	t.Helper()
	s := storetest.Open(t, storetest.Options(t, filepath.Join(t.TempDir(), "store")))
	for range n {
		f := newLockedFolder(t)
		f.shared = s
		all = append(all, f)
	}
	return all
}

// Machines of a database serve the same approved bytes, also if their files are others: those of the first machine until an
// approval, which is given at one machine, and then those of it, also where they never were in the folder.
func TestShared_machinesServeTheSameBytes(t *testing.T) {
	m := machines(t, 3)
	one, two, none := m[0], m[1], m[2]
	a := one.trusted("p.wasm", "p")
	evil().write(t, two.dir, "p.wasm")
	b, c := two.start(lock.Options{}), none.start(lock.Options{})
	if b.AwaitComplete(t.Context()); !has(b, "p-say") {
		t.Errorf("the first list: got %+v, want the plugin with the bytes of the database", status(b, "p"))
	}
	wantSays(t, b, "p-say", "honest")
	if got := status(b, "p"); got.Waits != digestOf(evil()) {
		t.Errorf("got %+v, want the file's bytes waiting", got)
	}
	two.approve(b, "p")
	if err := a.Relock(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Registry{"the machine of the approval": b, "the other one": a} {
		eventually(t, name+" serves the new bytes", func() bool {
			tool, ok := r.Snapshot().Tool("p-say")
			if !ok {
				t.Fatalf("%s: got %+v, want the bytes of before until the new ones are there", name, status(r, "p"))
			}
			got, err := textOf(tool.Call(t.Context(), catalog.Call{ID: "1"}))
			return err == nil && got == "evil"
		})
	}
	if err := c.Relock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if has(c, "p-say") {
		t.Error("a machine without a file of that name: got the plugin, want none: the folder says which plugins there are")
	}
	if err := one.lock(lock.Options{}).Reject(t.Context(), "p", digestOf(honest())); err != nil {
		t.Fatal(err)
	}
	if err := b.Relock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pin, _ := two.lock(lock.Options{}).Pin("p"); !pin.Refused(digestOf(honest())) || pin.Digest != digestOf(evil()) {
		t.Errorf("got %+v, want the rejection of the other machine", pin)
	}
}

// Bytes that were approved with a lock file before get into the database when a host serves them.
func TestShared_copiesOfALockFileGetThere(t *testing.T) {
	m := machines(t, 2)
	database := m[0].shared
	m[0].shared = nil
	closeNow(t, m[0].trusted("p.wasm", "p"))
	m[0].shared = database
	m[0].start(lock.Options{})
	evil().write(t, m[1].dir, "p.wasm")
	r := m[1].start(lock.Options{})
	eventually(t, "the approved bytes arrive", func() bool { return has(r, "p-say") })
	wantSays(t, r, "p-say", "honest")
}

// Approved bytes that the database does not have yet hold the plugin, and it serves when they are there.
func TestShared_bytesThatComeLater(t *testing.T) {
	m := machines(t, 2)
	honest().write(t, m[0].dir, "p.wasm")
	pin := lock.Pin{File: "p.wasm", Digest: digestOf(evil())}
	if err := m[0].lock(lock.Options{}).Approve(t.Context(), "p", "", pin); err != nil {
		t.Fatal(err)
	}
	r := m[0].start(lock.Options{})
	eventually(t, "it is held", func() bool { return status(r, "p").State == StateHeld && !has(r, "p-say") })
	wasm := evil().wasm()
	other := m[1].lock(lock.Options{})
	if err := errors.Join(other.Copies.Put(wasm, lock.Terms{Digest: digestOf(evil())}), other.Copies.Send(t.Context(), pin)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the approved bytes arrive", func() bool { return has(r, "p-say") || status(r, "p").Digest == digestOf(evil()) })
}

// A closed store stands for a database that is away: what is seen first is not called, and what was approved serves.
func TestShared_withoutTheDatabaseNothingNewServes(t *testing.T) {
	m := machines(t, 1)[0]
	s := store.New(storetest.Options(t, filepath.Join(t.TempDir(), "own")))
	m.shared = s
	r := m.trusted("p.wasm", "p")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	evil().write(t, m.dir, "q.wasm")
	eventually(t, "q is seen", func() bool { return has(r, "q-say") })
	tool, _ := r.Snapshot().Tool("q-say")
	if got, err := textOf(tool.Call(t.Context(), catalog.Call{ID: "1"})); err == nil {
		t.Errorf("a plugin that is not pinned: got %q, want an error", got)
	}
	evil().write(t, m.dir, "p.wasm")
	eventually(t, "the update waits", func() bool { return status(r, "p").Waits == digestOf(evil()) })
	wantSays(t, r, "p-say", "honest")
}
