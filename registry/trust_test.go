package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// lockedFolder is a plugin folder with a lock file.
type lockedFolder struct {
	t       testing.TB
	dir     string
	options Options      // of each start, without Lock
	shared  *store.Store // of the lock, with the tag postgres; nil: a lock file
}

func newLockedFolder(t testing.TB) *lockedFolder {
	t.Helper()
	f := &lockedFolder{t: t, dir: t.TempDir()}
	f.options = options(t, f.dir)
	f.options.State = t.TempDir()
	if storetest.Postgres {
		f.shared = storetest.Open(t, storetest.Options(t, f.options.State))
	}
	return f
}

// lock opens the lock as a second process would.
func (f *lockedFolder) lock(o lock.Options) *lock.Lock {
	f.t.Helper()
	o.File, o.Keep = filepath.Join(f.options.State, "sallyport.lock"), filepath.Join(f.options.State, "approved")
	o.Store = f.shared
	l, err := lock.Open(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// start starts a host on the folder.
func (f *lockedFolder) start(o lock.Options) *Registry {
	f.t.Helper()
	with := f.options
	with.Lock = f.lock(o)
	return open(f.t, with)
}

// honest is a plugin; evil has the same manifest and different code.
func honest() guest { return guest{manifest: tools("say"), answer: says("honest")} }
func evil() guest   { return guest{manifest: tools("say"), answer: says("evil")} }

// trusted starts with the honest plugin in a file, and waits until its digest is in the lock file.
func (f *lockedFolder) trusted(file, name string) *Registry {
	f.t.Helper()
	honest().write(f.t, f.dir, file)
	r := f.start(lock.Options{})
	eventually(f.t, name+" is pinned", func() bool {
		l := f.lock(lock.Options{})
		p, _ := l.Pin(name)
		return p.Digest == digestOf(honest()) && p.Imports != nil && l.Copies.Has(p.Digest)
	})
	wantSays(f.t, r, name+"-say", "honest")
	return r
}

// approve approves the waiting bytes, as a second process would, and lets a running host reload the lock.
func (f *lockedFolder) approve(r *Registry, name string) {
	f.t.Helper()
	v, err := f.start(lock.Options{Locked: true, ReadOnly: true}).Review(name)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := v.Approve(f.t.Context(), f.lock(lock.Options{})); err != nil {
		f.t.Fatal(err)
	}
	if err := r.Relock(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// serving returns the generation of a plugin that serves; nil if none does.
func serving(r *Registry, name string) *generation {
	r.inputs.mu.Lock()
	defer r.inputs.mu.Unlock()
	for _, p := range r.assembler.serving {
		if p.now.name == name {
			return p.now
		}
	}
	return nil
}

// valueOf returns a value of a plugin's configuration, as its calls get it; "" if it does not serve.
func valueOf(r *Registry, name, key string) string {
	if g := serving(r, name); g != nil {
		return g.config.Values[key]
	}
	return ""
}

// waitsUntilApproved waits until a change of a plugin is held, checks that the approved version serves with its value,
// and approves the change.
func (f *lockedFolder) waitsUntilApproved(r *Registry, name, before, after string) {
	f.t.Helper()
	held := func(r *Registry) func() bool {
		return func() bool {
			for _, s := range r.Plugins() {
				if s.Name == name && strings.Contains(s.Error, "sallyport approve "+name) {
					return true
				}
			}
			return false
		}
	}
	eventually(f.t, "it is held", held(r))
	again := f.start(lock.Options{ReadOnly: true})
	eventually(f.t, "it is held after a new start", held(again))
	for _, r := range []*Registry{r, again} {
		wantSays(f.t, r, name+"-say", "honest")
		if got := valueOf(r, name, "to"); got != before {
			f.t.Errorf("it is told %q, want %q", got, before)
		}
	}
	f.approve(r, name)
	wantSays(f.t, r, name+"-say", "honest")
	if got := valueOf(r, name, "to"); got != after {
		f.t.Errorf("it is told %q, want %q", got, after)
	}
}

func wantSays(t testing.TB, r *Registry, tool, want string) {
	t.Helper()
	if got, err := callText(t, r, tool, catalog.Call{ID: "1"}); err != nil || got != want {
		t.Errorf("%s says %q, %v; want %q", tool, got, err, want)
	}
}

func digestOf(g guest) string { return fileid.Digest(g.wasm()) }

func closeNow(t *testing.T, r *Registry) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestTrust_holdsNewBytesWhileTheApprovedServe(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")

	evil().write(t, f.dir, "p.wasm")
	eventually(t, "the status says so", func() bool { return status(r, "p").Waits == digestOf(evil()) })
	s := status(r, "p")
	if s.State != StateLoaded || s.Digest != digestOf(honest()) || !strings.Contains(s.Error, "sallyport approve p") {
		t.Errorf("got %+v, want state loaded, s.Digest = digestOf(honest()), error with \"sallyport approve p\"", s)
	}
	wantSays(t, r, "p-say", "honest")
	closeNow(t, r)

	r = f.start(lock.Options{}) // the folder has only the new bytes at the next start
	wantSays(t, r, "p-say", "honest")
	if s := status(r, "p"); s.Waits != digestOf(evil()) || s.State != StateLoaded {
		t.Errorf("got %+v, want s.Waits = digestOf(evil()), state loaded", s)
	}

	f.approve(r, "p")
	wantSays(t, r, "p-say", "evil")
	if s := status(r, "p"); s.Waits != "" || s.Error != "" || s.Digest != digestOf(evil()) {
		t.Errorf("got %+v, want s.Waits = \"\", error = \"\", s.Digest = digestOf(evil())", s)
	}
}

// A plugin serves without a gap when bytes are approved that are not loaded yet.
func TestTrust_servesUntilTheApprovedBytesAreLoaded(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	evil().write(t, f.dir, "p.wasm")
	eventually(t, "held", func() bool { return status(r, "p").Waits != "" })
	v, err := f.start(lock.Options{Locked: true, ReadOnly: true}).Review("p")
	if err != nil {
		t.Fatal(err)
	}
	honest().write(t, f.dir, "p.wasm")
	eventually(t, "its file is as before", func() bool { return status(r, "p").Waits == "" })
	gone := func() bool {
		_, ok := r.Snapshot().Tool("p-say")
		return !ok
	}
	stop := r.Watch(func(catalog.Change) {
		if gone() {
			t.Error("the plugin serves nothing while its approved bytes are loaded")
		}
	})
	defer stop()
	if err := errors.Join(v.Approve(t.Context(), f.lock(lock.Options{})), r.Relock(t.Context())); err != nil {
		t.Fatal(err)
	}
	if gone() {
		t.Error("the plugin serves nothing after the approval of bytes that are not loaded")
	}
	eventually(t, "the approved bytes serve", func() bool { return status(r, "p").Digest == digestOf(evil()) })
	wantSays(t, r, "p-say", "evil")

	other := lock.Pin{File: "p.wasm", Folder: f.dir, Digest: fileid.Digest([]byte("other"))}
	if err := f.lock(lock.Options{}).Approve(t.Context(), "p", digestOf(evil()), other); err != nil {
		t.Fatal(err)
	}
	if err := v.Approve(t.Context(), f.lock(lock.Options{})); !errors.Is(err, lock.ErrMoved) {
		t.Errorf("approved after other bytes were: got %v, want %v", err, lock.ErrMoved)
	}
}

func TestTrust_holdsRejectedBytes(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	evil().write(t, f.dir, "p.wasm")
	eventually(t, "held", func() bool { return status(r, "p").Waits != "" })
	if err := f.lock(lock.Options{}).Reject(t.Context(), "p", digestOf(evil())); err != nil {
		t.Fatal(err)
	}
	if err := r.Relock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(r, "p"); !strings.Contains(s.Error, "rejected") {
		t.Errorf("got %+v, want error with \"rejected\"", s)
	}
	wantSays(t, r, "p-say", "honest")
	honest().write(t, f.dir, "p.wasm")
	eventually(t, "all is well again", func() bool { return status(r, "p").Waits == "" })
}

func TestTrust_lockedServesOnlyApprovedBytes(t *testing.T) {
	f := newLockedFolder(t)
	honest().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{Locked: true})
	if s := status(r, "p"); s.State != StateHeld || !strings.Contains(s.Error, "not in the lock file") {
		t.Errorf("got %+v, want state held, error with \"not in the lock file\"", s)
	}
	if _, ok := r.Snapshot().Tool("p-say"); ok {
		t.Errorf("got tools %q, want no p-say", toolNames(r.Snapshot()))
	}
	f.approve(r, "p")
	wantSays(t, r, "p-say", "honest")
}

// promptText returns a prompt file with one text.
func promptText(says string) []byte { return []byte("---\ndescription: x\n---\n" + says + "\n") }

// wantPrompt waits until the only prompt of a registry has a text; "" is no prompt.
func wantPrompt(t *testing.T, r *Registry, want string) {
	t.Helper()
	eventually(t, "the prompt says "+want, func() bool {
		all := r.Snapshot().Prompts
		if len(all) == 0 {
			return want == ""
		}
		raw, err := answerOf(all[0].Get(t.Context(), catalog.Call{ID: "1"}))
		return err == nil && want != "" && strings.Contains(string(raw), want)
	})
}

// A prompt without approval serves before and after a change; an approved one is held when it changes, and
// its approved text serves, also after a restart.
func TestTrust_holdsAChangedDocumentOnceApproved(t *testing.T) {
	f := newLockedFolder(t)
	writeFile(t, f.dir, "p.prompt.md", promptText("Do it."))
	r := f.start(lock.Options{})
	wantPrompt(t, r, "Do it.")
	writeFile(t, f.dir, "p.prompt.md", promptText("Do that."))
	wantPrompt(t, r, "Do that.")
	f.approve(r, "p_prompt")
	writeFile(t, f.dir, "p.prompt.md", promptText("Obey me."))
	eventually(t, "it waits", func() bool { return strings.Contains(status(r, "p_prompt").Error, "sallyport approve p_prompt") })
	wantPrompt(t, r, "Do that.")
	closeNow(t, r)

	v, err := f.start(lock.Options{ReadOnly: true, Locked: true}).Review("p_prompt")
	if err != nil {
		t.Fatal(err)
	}
	c := lock.Difference(v.Before, v.After)
	if len(c) != 1 || c[0].What != "file p.prompt.md: text" || !strings.Contains(c[0].Before, "Do that.") || !strings.Contains(c[0].After, "Obey me.") {
		t.Errorf("got %+v, want len(c) = 1, c[0].What = \"file p.prompt.md: text\", c[0].Before with \"Do that.\", c[0].After with \"Obey me.\"", c)
	}

	r = f.start(lock.Options{})
	wantPrompt(t, r, "Do that.")
	f.approve(r, "p_prompt")
	wantPrompt(t, r, "Obey me.")
}

// The approved bytes serve, also after a restart, if the file is no longer a plugin.
func TestTrust_servesTheApprovedBytesOfABrokenFile(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	writeFile(t, f.dir, "q.prompt.md", promptText("Do it."))
	wantPrompt(t, r, "Do it.")
	f.approve(r, "q_prompt")
	closeNow(t, r)
	writeFile(t, f.dir, "p.wasm", []byte("half a file"))
	writeFile(t, f.dir, "q.prompt.md", promptText("{{if}}"))
	for _, o := range []lock.Options{{}, {Locked: true}} {
		r = f.start(o)
		wantPrompt(t, r, "Do it.")
		wantSays(t, r, "p-say", "honest")
		for _, name := range []string{"p", "q_prompt"} {
			if s := status(r, name); s.State != StateLoaded || !strings.HasPrefix(s.Error, "the new file does not serve, the old one does: ") {
				t.Errorf("got %+v, want state loaded, error beginning with \"the new file does not serve, the old one does: \"", s)
			}
		}
		closeNow(t, r)
	}
}

// With a closed lock, a text serves once it is approved, and code in its place does not.
func TestTrust_lockedServesOnlyApprovedDocuments(t *testing.T) {
	f := newLockedFolder(t)
	writeFile(t, f.dir, "p.prompt.md", promptText("Do it."))
	r := f.start(lock.Options{Locked: true})
	if s := status(r, "p_prompt"); s.State != StateHeld || !strings.Contains(s.Error, "not in the lock file") {
		t.Errorf("got %+v, want state held, error with \"not in the lock file\"", s)
	}
	wantPrompt(t, r, "")
	f.approve(r, "p_prompt")
	wantPrompt(t, r, "Do it.")
	evil().write(t, f.dir, "p_prompt.wasm")
	if err := os.Remove(filepath.Join(f.dir, "p.prompt.md")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "code in the prompt's place is held", func() bool { return status(r, "p_prompt").State == StateHeld })
	if n := len(r.Snapshot().Tools); n != 0 {
		t.Errorf("got %d tools, want 0", n)
	}
}

// The pin belongs to the name, not to the file. A manifest with a different
// module, or a configuration with a different source, is held.
func TestTrust_pinBelongsToTheName(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	evil().write(t, f.dir, "q.wasm")
	writeFile(t, f.dir, "p.json", []byte(`{"wasm":[{"path":"q.wasm"}]}`))
	eventually(t, "the manifest is held", func() bool { s := status(r, "p"); return strings.HasSuffix(s.File, "p.json") && s.State == StateHeld })
	wantSays(t, r, "p-say", "honest")
	if err := os.Remove(filepath.Join(f.dir, "p.wasm")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its module waits", func() bool { return status(r, "p").Waits == digestOf(evil()) })
	eventually(t, "the approved bytes serve", func() bool { _, ok := r.Snapshot().Tool("p-say"); return ok })
	wantSays(t, r, "p-say", "honest")
}

func TestUpdates_sameInterfaceNeedsNoApproval(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Plugins = map[string]Config{"p": {Updates: UpdatesSame}}
	r := f.trusted("p.wasm", "p")
	evil().write(t, f.dir, "p.wasm")
	eventually(t, "it serves", func() bool { return status(r, "p").Digest == digestOf(evil()) })
	more := guest{manifest: tools("say", "more"), answer: says("more")}
	more.write(t, f.dir, "p.wasm")
	eventually(t, "what offers more is held", func() bool { return status(r, "p").Waits == digestOf(more) })
	wantSays(t, r, "p-say", "evil")
	if s := status(r, "p"); s.Updates != "same-interface" {
		t.Errorf("got %+v, want s.Updates = \"same-interface\"", s)
	}
}

// An automatic approval keeps the rejections, and leaves bytes that were replaced to the operator.
func TestUpdates_sameInterfaceKeepsTheOperatorsAnswers(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Plugins = map[string]Config{"p": {Updates: UpdatesSame}}
	r := f.trusted("p.wasm", "p")
	if err := errors.Join(f.lock(lock.Options{}).Reject(t.Context(), "p", digestOf(evil())), r.Relock(t.Context())); err != nil {
		t.Fatal(err)
	}
	third := guest{manifest: tools("say"), answer: says("third")}
	third.write(t, f.dir, "p.wasm")
	eventually(t, "other bytes serve", func() bool { return status(r, "p").Digest == digestOf(third) })
	for _, g := range []guest{evil(), honest()} { // rejected, replaced
		g.write(t, f.dir, "p.wasm")
		eventually(t, "they are held", func() bool { return status(r, "p").Waits == digestOf(g) })
	}
	wantSays(t, r, "p-say", "third")
	closeNow(t, r) // ends what compares them
	if pin, _ := f.lock(lock.Options{}).Pin("p"); pin.Digest != digestOf(third) || !pin.Refused(digestOf(evil())) {
		t.Errorf("got pin %+v, want that of the third, with the rejection", pin)
	}
}

func TestUpdates_devServesAnyBytes(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Plugins = map[string]Config{"p": {Updates: UpdatesDev}}
	honest().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	evil().write(t, f.dir, "p.wasm")
	eventually(t, "it serves", func() bool { return status(r, "p").Digest == digestOf(evil()) })
	if p, ok := f.lock(lock.Options{}).Pin("p"); ok {
		t.Errorf("got pin %+v, want none", p)
	}
}

// A plugin without a manifest section changes its answer to plugin/describe. Its code is
// approved, its new definitions are not.
func TestTrust_hidesNewDefinitionsOfApprovedCode(t *testing.T) {
	f := newLockedFolder(t)
	asked := guest{answer: `{"result":` + tools("old", "new") + `}`}
	asked.write(t, f.dir, "p.wasm")
	pin := lock.Pin{File: "p.wasm", Digest: digestOf(asked), Definitions: map[string]string{"tool old": lock.Hash([]byte(`{"name":"old"}`))}}
	if err := f.lock(lock.Options{}).Approve(t.Context(), "p", "", pin); err != nil {
		t.Fatal(err)
	}
	r := f.start(lock.Options{})
	if _, ok := r.Snapshot().Tool("p-old"); ok {
		t.Errorf("got tools %q, want no p-old", toolNames(r.Snapshot()))
	}
	if _, ok := r.Snapshot().Tool("p-new"); !ok {
		t.Errorf("got tools %q, status %+v; want p-new", toolNames(r.Snapshot()), status(r, "p"))
	}
	if s := status(r, "p"); len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], `tool "old" is held`) {
		t.Errorf("got %+v, want len(s.Warnings) not 0, s.Warnings[0] with \"tool \"old\" is held\"", s)
	}
	eventually(t, "it is pinned", func() bool {
		p, _ := f.lock(lock.Options{}).Pin("p")
		return p.Definitions["tool new"] != ""
	})
	f.approve(r, "p")
	if _, ok := r.Snapshot().Tool("p-old"); !ok {
		t.Errorf("got %+v, want it published", status(r, "p"))
	}
}

// A plugin approved without definitions cannot add any under a closed lock.
func TestTrust_lockedHidesLaterDefinitions(t *testing.T) {
	f := newLockedFolder(t)
	asked := guest{answer: `{"result":` + tools("new") + `}`}
	asked.write(t, f.dir, "p.wasm")
	if err := f.lock(lock.Options{}).Approve(t.Context(), "p", "", lock.Pin{File: "p.wasm", Digest: digestOf(asked)}); err != nil {
		t.Fatal(err)
	}
	r := f.start(lock.Options{Locked: true})
	if _, ok := r.Snapshot().Tool("p-new"); ok {
		t.Errorf("got tools %q, want no p-new before an approval", toolNames(r.Snapshot()))
	}
	if s := status(r, "p"); len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], `tool "new" is held`) {
		t.Errorf("got %+v, want len(s.Warnings) not 0, s.Warnings[0] with \"tool \"new\" is held\"", s)
	}
}

func TestTrust_refusesChangedCopies(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	closeNow(t, r)
	evil().write(t, f.dir, "p.wasm")
	kept := f.lock(lock.Options{}).Copies.Path(digestOf(honest()))
	if err := os.WriteFile(kept, evil().wasm(), 0o600); err != nil {
		t.Fatal(err)
	}
	r = f.start(lock.Options{})
	if s := status(r, "p"); s.State != StateHeld || s.Waits != digestOf(evil()) {
		t.Errorf("got %+v, want state held, s.Waits = digestOf(evil())", s)
	}
	if _, ok := r.Snapshot().Tool("p-say"); ok {
		t.Errorf("got tools %q, want no p-say", toolNames(r.Snapshot()))
	}
}

// Files without approval are reported as such, and lists and a serving host choose the same of several files of one
// name, in any order of discovery.
func TestNames_exactFileNameWinsInLists(t *testing.T) {
	for _, o := range []lock.Options{{ReadOnly: true}, {}} {
		for _, first := range []string{"a-b.wasm", "a_b.wasm"} {
			f := newLockedFolder(t)
			later := time.Now().Add(-fileid.SettleTime / 2)
			for _, name := range []string{"a-b.wasm", "a_b.wasm"} {
				file := honest().write(t, f.dir, name)
				at := later
				if name == first {
					at = later.Add(-time.Hour)
				}
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
			r := f.start(o)
			for _, s := range r.Plugins() {
				switch filepath.Base(s.File) {
				case "a_b.wasm":
					if s.State != StateLoaded {
						t.Errorf("got %+v, want state loaded", s)
					}
				case "a-b.wasm":
					if s.State != StateHeld || o.ReadOnly && s.Error != "the plugin a_b is the file a_b.wasm: rename a-b.wasm, or give it its own key and source in sallyport.yaml" {
						t.Errorf("got status %+v, want state %v with the advice to rename a-b.wasm", s, StateHeld)
					}
				}
			}
			closeNow(t, r)
		}
	}
}

func TestNames_approvedFileKeepsItsName(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("a_b.wasm", "a_b")
	evil().write(t, f.dir, "a-b.wasm")
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

// An Extism manifest with changed values is held, though its code is the same.
func TestTrust_holdsAChangedExtismManifest(t *testing.T) {
	const good = "https://good.example"
	for change, after := range map[string]string{
		`"config":{"to":"https://evil.example"}`:                       "https://evil.example",
		`"config":{"to":"https://good.example"},"allowed_hosts":["*"]`: good,
		`"config":{"to":"https://good.example"},"timeout_ms":1`:        good,
	} {
		f := newLockedFolder(t)
		writeFile(t, f.dir, "p.json", []byte(`{"wasm":[{"path":"code.wasm"}],"config":{"to":"https://good.example"}}`))
		r := f.trusted("code.wasm", "p")
		writeFile(t, f.dir, "p.json", []byte(`{"wasm":[{"path":"code.wasm"}],`+change+`}`))
		if strings.Contains(change, "timeout") { // no call could succeed with it
			eventually(t, "it is held", func() bool { return strings.Contains(status(r, "p").Error, "sallyport approve p") })
			wantSays(t, r, "p-say", "honest")
			continue
		}
		f.waitsUntilApproved(r, "p", good, after)
	}
}

// Held are a manifest with values beside code approved without one, and the removal of a manifest that restricted the
// code's configuration.
func TestTrust_holdsAnAddedOrRemovedExtismManifest(t *testing.T) {
	const with = `{"wasm":[{"path":"p.wasm"}],"config":{"to":"https://evil.example"}}`
	t.Run("put", func(t *testing.T) {
		f := newLockedFolder(t)
		r := f.trusted("p.wasm", "p")
		writeFile(t, f.dir, "p.json", []byte(with))
		f.waitsUntilApproved(r, "p", "", "https://evil.example")
	})
	t.Run("taken away", func(t *testing.T) {
		f := newLockedFolder(t)
		writeFile(t, f.dir, "p.json", []byte(with))
		r := f.trusted("p.wasm", "p")
		if err := os.Remove(filepath.Join(f.dir, "p.json")); err != nil {
			t.Fatal(err)
		}
		f.waitsUntilApproved(r, "p", "https://evil.example", "")
	})
}

// A new manifest does not displace an approved plugin, whichever module it names, and an approved manifest that became
// unusable does not stop its plugin.
func TestTrust_noManifestStopsAnApprovedPlugin(t *testing.T) {
	for name, manifest := range map[string]string{
		"evil.json": `{"wasm":[{"path":"time.wasm"}]}`,
		"time.json": `{"wasm":[{"path":"time.wasm"}],"memory":{"max_pages":1}}`,
		"TIME.json": `{"wasm":[{"path":"time.wasm"}]}`,
		"Time.json": `{"wasm":[{"path":"https://evil.example/x.wasm"}]}`,
	} {
		f := newLockedFolder(t)
		r := f.trusted("time.wasm", "time")
		writeFile(t, f.dir, name, []byte(manifest))
		eventually(t, name+" is read", func() bool {
			for _, s := range r.Plugins() {
				if filepath.Base(s.File) == name && s.State != StateLoading {
					return true
				}
			}
			return false
		})
		for _, r := range []*Registry{r, f.start(lock.Options{})} {
			eventually(t, name+": it serves", func() bool { return has(r, "time-say") })
			wantSays(t, r, "time-say", "honest")
		}
	}
	for what, manifest := range map[string]string{
		"another hash":   `{"wasm":[{"path":"p.wasm","hash":"` + strings.Repeat("00", 32) + `"}],"config":{"to":"x"}}`,
		"outside":        `{"wasm":[{"path":"/elsewhere/p.wasm"}],"config":{"to":"x"}}`,
		"another module": `{"wasm":[{"path":"q.wasm"}],"config":{"to":"x"}}`,
		"no JSON":        `{`,
	} {
		f := newLockedFolder(t)
		writeFile(t, f.dir, "p.json", []byte(`{"wasm":[{"path":"p.wasm"}],"config":{"to":"here"}}`))
		r := f.trusted("p.wasm", "p")
		evil().write(t, f.dir, "q.wasm")
		writeFile(t, f.dir, "p.json", []byte(manifest))
		eventually(t, what+" is told", func() bool { s := status(r, "p"); return s.Error != "" || len(s.Warnings) > 0 })
		again := f.start(lock.Options{})
		for _, r := range []*Registry{r, again} {
			eventually(t, what+": it serves", func() bool { return has(r, "p-say") })
			wantSays(t, r, "p-say", "honest")
			if got := valueOf(r, "p", "to"); got != "here" {
				t.Errorf("%s: got value %q, want \"here\"", what, got)
			}
		}
	}
}

func TestReview_showsAndApprovesTheDifference(t *testing.T) {
	f := newLockedFolder(t)
	r := f.trusted("p.wasm", "p")
	if _, err := r.Review("p"); !errors.Is(err, ErrNothingWaits) {
		t.Error(err)
	}
	if _, err := r.Review("nobody"); err == nil {
		t.Error("review of an absent plugin: got no error, want one")
	}
	closeNow(t, r)
	more := guest{manifest: strings.Replace(tools("say", "more"), "does say", "says what it is told", 1), answer: says("x")}
	more.write(t, f.dir, "p.wasm")
	r = f.start(lock.Options{ReadOnly: true, Locked: true})
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
