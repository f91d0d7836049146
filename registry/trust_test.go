package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
)

// locked are options with a lock file, and what opens the lock again as another process would.
func locked(t testing.TB, dir string) (Options, func(lock.Options) *lock.Lock) {
	t.Helper()
	state := t.TempDir()
	again := func(o lock.Options) *lock.Lock {
		o.File, o.Keep = filepath.Join(state, "sallyport.lock"), filepath.Join(state, "approved")
		l, err := lock.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	o := options(t, dir)
	o.State, o.Lock = state, again(lock.Options{})
	return o, again
}

// honest is a plugin; evil one with the same manifest and another code.
func honest() guest { return guest{manifest: tools("say"), answer: says("honest")} }
func evil() guest   { return guest{manifest: tools("say"), answer: says("evil")} }

func wantSays(t *testing.T, r *Registry, tool, want string) {
	t.Helper()
	if got, err := callText(t, r, tool, catalogue.Call{ID: "1"}); err != nil || got != want {
		t.Errorf("%s says %q, %v; want %q", tool, got, err, want)
	}
}

func digestOf(g guest) string { return stamp.Digest(g.wasm()) }

// pinnedAndKept waits until the first bytes of a plugin are written down.
func pinnedAndKept(t *testing.T, again func(lock.Options) *lock.Lock, name string, g guest) {
	t.Helper()
	eventually(t, name+" is pinned", func() bool {
		l := again(lock.Options{})
		p, _ := l.Pin(name)
		return p.Digest == digestOf(g) && p.Imports != nil && l.Keeps(p.Digest)
	})
}

func closeNow(t *testing.T, r *Registry) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// approveIn approves what waits, as another process does.
func approveIn(t *testing.T, o Options, again func(lock.Options) *lock.Lock, name string) {
	t.Helper()
	o.Lock = again(lock.Options{Locked: true, ReadOnly: true})
	r := open(t, o)
	v, err := r.Review(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Approve(t.Context(), again(lock.Options{})); err != nil {
		t.Fatal(err)
	}
}

func TestOtherBytesAreHeldWhileTheApprovedServe(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	wantSays(t, r, "p-say", "honest")
	pinnedAndKept(t, again, "p", honest())

	evil().write(t, dir, "p.wasm")
	eventually(t, "the status says so", func() bool { return status(r, "p").Waits == digestOf(evil()) })
	s := status(r, "p")
	if s.State != StateLoaded || s.Digest != digestOf(honest()) || !strings.Contains(s.Error, "sallyport approve p") {
		t.Errorf("%+v", s)
	}
	wantSays(t, r, "p-say", "honest")
	closeNow(t, r)

	o.Lock = again(lock.Options{})
	r = open(t, o) // the next start finds only the new bytes in the folder
	wantSays(t, r, "p-say", "honest")
	if s := status(r, "p"); s.Waits != digestOf(evil()) || s.State != StateLoaded {
		t.Errorf("%+v", s)
	}

	approveIn(t, o, again, "p")
	if err := r.Relock(); err != nil {
		t.Fatal(err)
	}
	wantSays(t, r, "p-say", "evil")
	if s := status(r, "p"); s.Waits != "" || s.Error != "" || s.Digest != digestOf(evil()) {
		t.Errorf("%+v", s)
	}
}

func TestRejectedBytesStayHeld(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "p", honest())
	evil().write(t, dir, "p.wasm")
	eventually(t, "held", func() bool { return status(r, "p").Waits != "" })
	if err := again(lock.Options{}).Reject(t.Context(), "p", digestOf(evil())); err != nil {
		t.Fatal(err)
	}
	if err := r.Relock(); err != nil {
		t.Fatal(err)
	}
	if s := status(r, "p"); !strings.Contains(s.Error, "rejected") {
		t.Errorf("%+v", s)
	}
	wantSays(t, r, "p-say", "honest")
	honest().write(t, dir, "p.wasm")
	eventually(t, "all is well again", func() bool { return status(r, "p").Waits == "" })
}

func TestLockedServesNothingElse(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	o.Lock = again(lock.Options{Locked: true})
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	if s := status(r, "p"); s.State != StateHeld || !strings.Contains(s.Error, "not in the lock file") {
		t.Errorf("%+v", s)
	}
	if _, ok := r.Snapshot().Tool("p-say"); ok {
		t.Error("its tool is published")
	}
	approveIn(t, o, again, "p")
	if err := r.Relock(); err != nil {
		t.Fatal(err)
	}
	wantSays(t, r, "p-say", "honest")
}

// TestLockedHoldsTexts: a prompt file is not in the lock file either.
func TestLockedHoldsTexts(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	o.Lock = again(lock.Options{Locked: true})
	writeFile(t, dir, "p.prompt.md", []byte("---\ndescription: x\n---\nDo it.\n"))
	r := open(t, o)
	if s := status(r, "p_prompt"); s.State != StateHeld || !strings.Contains(s.Error, "--locked") {
		t.Errorf("%+v", s)
	}
	if n := len(r.Snapshot().Prompts); n != 0 {
		t.Errorf("%d prompts are published", n)
	}
}

// TestAnotherKindOfFileDoesNotTakeAName holds that the pin is the name's, not the file's: a manifest that names
// another module, or a configuration that names another source, brings other bytes.
func TestAnotherKindOfFileDoesNotTakeAName(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "p", honest())
	evil().write(t, dir, "q.wasm")
	writeFile(t, dir, "p.json", []byte(`{"wasm":[{"path":"q.wasm"}]}`))
	eventually(t, "the manifest is held", func() bool { s := status(r, "p"); return strings.HasSuffix(s.File, "p.json") && s.State == StateHeld })
	wantSays(t, r, "p-say", "honest")
	if err := os.Remove(filepath.Join(dir, "p.wasm")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its module waits", func() bool { return status(r, "p").Waits == digestOf(evil()) })
	eventually(t, "the approved bytes serve", func() bool { _, ok := r.Snapshot().Tool("p-say"); return ok })
	wantSays(t, r, "p-say", "honest")
}

func TestSameInterfaceNeedsNoAnswer(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	o.Plugins = map[string]Config{"p": {Updates: UpdatesSame}}
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "p", honest())
	evil().write(t, dir, "p.wasm")
	eventually(t, "it serves", func() bool { return status(r, "p").Digest == digestOf(evil()) })
	more := guest{manifest: tools("say", "more"), answer: says("more")}
	more.write(t, dir, "p.wasm")
	eventually(t, "what offers more is held", func() bool { return status(r, "p").Waits == digestOf(more) })
	wantSays(t, r, "p-say", "evil")
	if s := status(r, "p"); s.Updates != "same-interface" {
		t.Errorf("%+v", s)
	}
}

func TestDevServesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	o.Plugins = map[string]Config{"p": {Updates: UpdatesDev}}
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	evil().write(t, dir, "p.wasm")
	eventually(t, "it serves", func() bool { return status(r, "p").Digest == digestOf(evil()) })
	if p, ok := again(lock.Options{}).Pin("p"); ok {
		t.Errorf("it is pinned: %+v", p)
	}
}

// TestAskedDefinitions has a plugin without a manifest section answer in another way than before: the code is
// the approved one, what it says is not.
func TestAskedDefinitions(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	asked := guest{answer: `{"result":` + tools("old", "new") + `}`}
	asked.write(t, dir, "p.wasm")
	pin := lock.Pin{File: "p.wasm", Digest: digestOf(asked), Definitions: map[string]string{"tool old": lock.Hash([]byte(`{"name":"old"}`))}}
	if err := again(lock.Options{}).Approve(t.Context(), "p", pin); err != nil {
		t.Fatal(err)
	}
	o.Lock = again(lock.Options{})
	r := open(t, o)
	if _, ok := r.Snapshot().Tool("p-old"); ok {
		t.Error("the changed tool is published")
	}
	if _, ok := r.Snapshot().Tool("p-new"); !ok {
		t.Errorf("the tool that was first seen is not: %+v", status(r, "p"))
	}
	if s := status(r, "p"); len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], `tool "old" is held`) {
		t.Errorf("%+v", s)
	}
	eventually(t, "it is pinned", func() bool {
		p, _ := again(lock.Options{}).Pin("p")
		return p.Definitions["tool new"] != ""
	})
	approveIn(t, o, again, "p")
	if err := r.Relock(); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Snapshot().Tool("p-old"); !ok {
		t.Errorf("%+v", status(r, "p"))
	}
}

// TestLockedHoldsWhatIsSaidLater approves a plugin that offered nothing when it was asked: with a lock file that
// nothing is added to, it offers nothing later either.
func TestLockedHoldsWhatIsSaidLater(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	asked := guest{answer: `{"result":` + tools("new") + `}`}
	asked.write(t, dir, "p.wasm")
	if err := again(lock.Options{}).Approve(t.Context(), "p", lock.Pin{File: "p.wasm", Digest: digestOf(asked)}); err != nil {
		t.Fatal(err)
	}
	o.Lock = again(lock.Options{Locked: true})
	r := open(t, o)
	if _, ok := r.Snapshot().Tool("p-new"); ok {
		t.Error("a tool is published that nobody approved")
	}
	if s := status(r, "p"); len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], `tool "new" is held`) {
		t.Errorf("%+v", s)
	}
}

func TestKeptBytesThatWereChangedDoNotServe(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "p", honest())
	closeNow(t, r)
	evil().write(t, dir, "p.wasm")
	kept := again(lock.Options{}).KeptFile(digestOf(honest()))
	if err := os.WriteFile(kept, evil().wasm(), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Lock = again(lock.Options{})
	r = open(t, o)
	if s := status(r, "p"); s.State != StateHeld || s.Waits != digestOf(evil()) {
		t.Errorf("%+v", s)
	}
	if _, ok := r.Snapshot().Tool("p-say"); ok {
		t.Error("something serves")
	}
}

func TestTheApprovedFileKeepsItsName(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "a_b.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "a_b", honest())
	evil().write(t, dir, "a-b.wasm")
	eventually(t, "the second is held", func() bool {
		for _, s := range r.Plugins() {
			if strings.HasSuffix(s.File, "a-b.wasm") && s.State == StateHeld {
				return true
			}
		}
		return false
	})
	wantSays(t, r, "a_b-say", "honest")
}

// TestAnotherManifestIsHeld changes what an Extism manifest says, and leaves the code as it was.
func TestAnotherManifestIsHeld(t *testing.T) {
	for _, change := range []string{`"config":{"to":"https://evil.example"}`, `"config":{"to":"https://good.example"},"allowed_hosts":["*"]`} {
		dir := t.TempDir()
		o, again := locked(t, dir)
		honest().write(t, dir, "code.wasm")
		writeFile(t, dir, "p.json", []byte(`{"wasm":[{"path":"code.wasm"}],"config":{"to":"https://good.example"}}`))
		r := open(t, o)
		wantSays(t, r, "p-say", "honest")
		pinnedAndKept(t, again, "p", honest())
		writeFile(t, dir, "p.json", []byte(`{"wasm":[{"path":"code.wasm"}],`+change+`}`))
		eventually(t, "it is held", func() bool {
			s := status(r, "p")
			return s.State == StateHeld && strings.Contains(s.Error, "sallyport approve p")
		})
		if _, ok := r.Snapshot().Tool("p-say"); ok {
			t.Error("its tool is published")
		}
		approveIn(t, o, again, "p")
		if err := r.Relock(); err != nil {
			t.Fatal(err)
		}
		wantSays(t, r, "p-say", "honest")
	}
}

// TestAManifestPutBesideApprovedCodeIsHeld gives code that was approved without a manifest one with values, and
// takes a manifest away that narrowed what the code was told.
func TestAManifestPutBesideApprovedCodeIsHeld(t *testing.T) {
	with, without := `{"wasm":[{"path":"p.wasm"}],"config":{"to":"https://evil.example"}}`, ""
	for _, c := range []struct{ before, after string }{{without, with}, {with, without}} {
		dir := t.TempDir()
		o, again := locked(t, dir)
		put := func(manifest string) {
			if manifest != "" {
				writeFile(t, dir, "p.json", []byte(manifest))
			} else if err := os.Remove(filepath.Join(dir, "p.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		put(c.before)
		honest().write(t, dir, "p.wasm")
		r := open(t, o)
		wantSays(t, r, "p-say", "honest")
		pinnedAndKept(t, again, "p", honest())
		put(c.after)
		eventually(t, "it is held", func() bool {
			s := status(r, "p")
			return s.State == StateHeld && strings.Contains(s.Error, "sallyport approve p")
		})
		if _, ok := r.Snapshot().Tool("p-say"); ok {
			t.Error("its tool is published")
		}
		approveIn(t, o, again, "p")
		if err := r.Relock(); err != nil {
			t.Fatal(err)
		}
		wantSays(t, r, "p-say", "honest")
	}
}

func TestReview(t *testing.T) {
	dir := t.TempDir()
	o, again := locked(t, dir)
	honest().write(t, dir, "p.wasm")
	r := open(t, o)
	pinnedAndKept(t, again, "p", honest())
	if _, err := r.Review("p"); !errors.Is(err, ErrNothingWaits) {
		t.Error(err)
	}
	if _, err := r.Review("nobody"); err == nil {
		t.Error("a plugin that is not there is reviewed")
	}
	closeNow(t, r)
	more := guest{manifest: strings.Replace(tools("say", "more"), "does say", "says what it is told", 1), answer: says("x")}
	more.write(t, dir, "p.wasm")
	o.Lock = again(lock.Options{ReadOnly: true, Locked: true})
	r = open(t, o)
	v, err := r.Review("p")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range lock.Difference(v.Before, v.After) {
		got = append(got, c.What+"|"+c.Before)
	}
	want := "tool more: description|;tool more: inputSchema.type|;tool more: name|;tool say: description|does say"
	if strings.Join(got, ";") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
