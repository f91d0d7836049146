package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// A host that ends right after its first list has pinned the listed plugins and stored their bytes: the next host
// serves them if the files change.
func TestIdentity_isKeptByAShortRun(t *testing.T) {
	f := newLockedFolder(t)
	honest().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	if !has(r, "p-say") {
		t.Fatalf("got status %+v, want p-say listed", status(r, "p"))
	}
	closeNow(t, r)
	l := f.lock(lock.Options{})
	if pin, _ := l.Pin("p"); pin.Digest != digestOf(honest()) || pin.Folder != f.dir || pin.File != "p.wasm" || !l.Copies.Has(pin.Digest) {
		t.Errorf("got pin %+v, want p.wasm in %s with digest %s and its copy", pin, f.dir, digestOf(honest()))
	}
	evil().write(t, f.dir, "p.wasm")
	r = f.start(lock.Options{})
	wantSays(t, r, "p-say", "honest")
	if s := status(r, "p"); !strings.Contains(s.Error, "and the approved ones (") || !strings.Contains(s.Error, ") serve") {
		t.Errorf("got %+v, want error with \"and the approved ones (\", error with \") serve\"", s)
	}
}

// The first call of a plugin waits until it is pinned and its bytes are stored, since the host may be killed during the
// call.
func TestIdentity_isPinnedBeforeTheFirstCall(t *testing.T) {
	f := newLockedFolder(t)
	honest().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	r.keeper.over.Store(true) // no copies besides those by calls
	l := f.lock(lock.Options{})
	if pin, known := l.Pin("p"); known {
		t.Fatalf("before the call: got pin %+v, want none", pin)
	}
	wantSays(t, r, "p-say", "honest")
	l = f.lock(lock.Options{})
	if pin, _ := l.Pin("p"); pin.Digest != digestOf(honest()) || !l.Copies.Has(pin.Digest) {
		t.Errorf("after the call: got pin %+v, want digest %s with its copy", pin, digestOf(honest()))
	}
}

// A pin is in the lock file only if its bytes are stored, and the status never claims otherwise.
func TestIdentity_pinsOnlyStoredBytes(t *testing.T) {
	f := newLockedFolder(t)
	closeNow(t, f.trusted("p.wasm", "p"))
	if err := os.Remove(f.lock(lock.Options{}).Copies.Path(digestOf(honest()))); err != nil {
		t.Fatal(err)
	}
	evil().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	if f.shared != nil {
		eventually(t, "the copy of the database serves", func() bool { return status(r, "p").Digest == digestOf(honest()) })
		return
	}
	if s := status(r, "p"); s.State != StateHeld || strings.Contains(s.Error, "serve") || !strings.Contains(s.Error, "are not kept here; sallyport approve p") {
		t.Errorf("got status %+v, want state %v with the advice to approve and nothing that serves", s, StateHeld)
	}
}

// A different file of a pinned name is held in any folder, and the pinned bytes serve there.
func TestIdentity_holdsInAnyFolder(t *testing.T) {
	f := newLockedFolder(t)
	closeNow(t, f.trusted("p.wasm", "p"))
	first := f.dir
	f.dir = t.TempDir()
	f.options.Dir = f.dir
	evil().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	wantSays(t, r, "p-say", "honest")
	if s := status(r, "p"); s.Waits != digestOf(evil()) || !strings.Contains(s.Error, ", from "+filepath.Join(first, "p.wasm")+") serve; sallyport approve p ") {
		t.Errorf("got status %+v, want %s waiting and the file of the first folder serving", s, digestOf(evil()))
	}
}

// An automatic update applies to the approved file only, not to a file of the same name in a different folder.
func TestIdentity_updatesApplyToTheApprovedFile(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Plugins = map[string]Config{"p": {Updates: UpdatesSame}}
	closeNow(t, f.trusted("p.wasm", "p"))
	f.dir = t.TempDir()
	f.options.Dir = f.dir
	evil().write(t, f.dir, "p.wasm")
	r := f.start(lock.Options{})
	wantSays(t, r, "p-say", "honest")
	closeNow(t, r) // also ends the comparison
	if pin, _ := f.lock(lock.Options{}).Pin("p"); pin.Digest != digestOf(honest()) {
		t.Errorf("got %+v, want pin.Digest = digestOf(honest())", pin)
	}
}

// Of two hosts that see different bytes of one name first, at once, one pins its own; the other rejects its first call,
// and serves the pinned bytes from then on.
func TestIdentity_firstOfTwoHostsPins(t *testing.T) {
	f := newLockedFolder(t)
	g := newLockedFolder(t)
	g.options.State, g.shared = f.options.State, f.shared
	honest().write(t, f.dir, "p.wasm")
	evil().write(t, g.dir, "p.wasm")
	with := g.options
	with.Lock = g.lock(lock.Options{}) // before the other writes
	r := f.start(lock.Options{})
	wantSays(t, r, "p-say", "honest")
	closeNow(t, r)
	r = open(t, with)
	tool, ok := r.Snapshot().Tool("p-say")
	if !ok {
		t.Fatalf("got status %+v, want p-say listed", status(r, "p"))
	}
	if got, err := textOf(tool.Call(t.Context(), catalog.Call{ID: "1"})); err == nil || !strings.Contains(err.Error(), `plugin "p" is held: another host has pinned other bytes`) {
		t.Errorf("got %q, %v, want error with \"plugin \"p\" is held: another host has pinned other bytes\"", got, err)
	}
	eventually(t, "it is held", func() bool { return status(r, "p").Waits == digestOf(evil()) && has(r, "p-say") })
	wantSays(t, r, "p-say", "honest")
}

// digest: in the settings selects the only bytes that may serve: from the first start, also with a closed lock, and
// regardless of the pin.
func TestIdentity_digestOfTheSettingsDecides(t *testing.T) {
	f := newLockedFolder(t)
	honest().write(t, f.dir, "p.wasm")
	f.options.Plugins = map[string]Config{"p": {Digest: digestOf(honest())}}
	r := f.start(lock.Options{Locked: true})
	wantSays(t, r, "p-say", "honest")
	closeNow(t, r)

	evil().write(t, f.dir, "p.wasm")
	r = f.start(lock.Options{})
	want := "its bytes are " + digestOf(evil()) + ", and digest: of the settings names " + digestOf(honest()) + ": put that file there, or change the line"
	if s := status(r, "p"); s.Error != want || s.State != StateLoaded {
		t.Errorf("got %+v, want error = %v, state loaded", s, want)
	}
	wantSays(t, r, "p-say", "honest") // stored copies
	if _, err := r.Review("p"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want error with %v", err, want)
	}
	closeNow(t, r)

	f.options.Plugins = map[string]Config{"p": {Digest: digestOf(evil()), Updates: UpdatesDev}}
	r = f.start(lock.Options{})
	wantSays(t, r, "p-say", "evil")
	closeNow(t, r)

	if err := f.lock(lock.Options{}).Approve(t.Context(), "p", digestOf(evil()), lock.Pin{File: "p.wasm", Digest: digestOf(honest())}); err != nil {
		t.Fatal(err)
	}
	r = f.start(lock.Options{})
	wantSays(t, r, "p-say", "evil")
	closeNow(t, r)
	if pin, _ := f.lock(lock.Options{}).Pin("p"); pin.Digest != digestOf(honest()) { // other settings may rely on it
		t.Errorf("got %+v, want pin.Digest = digestOf(honest())", pin)
	}

	f.options.Plugins = map[string]Config{"p": {Digest: "sha256:" + strings.Repeat("00", 32), Updates: UpdatesDev}}
	r = f.start(lock.Options{})
	if s := status(r, "p"); s.State != StateHeld || !strings.Contains(s.Error, "digest: of the settings names sha256:00") || has(r, "p-say") {
		t.Errorf("got %+v, want state held, error with \"digest: of the settings names sha256:00\", no tool p-say", s)
	}
}

// One file name matches a name of the settings exactly. Other files with that plugin name are held, with or without it,
// and so are two that differ in case.
func TestIdentity_oneFileMatchesAName(t *testing.T) {
	for _, test := range []struct {
		files, keys string
		serves      string // files
		says        string // status of a held one
	}{
		{files: "my_tool.wasm", keys: "my_tool", serves: "my_tool.wasm"},
		{files: "my-tool.wasm", serves: "my-tool.wasm"},
		{files: "my-tool.wasm", keys: "my_tool", says: "the plugin my_tool is the file my_tool.wasm: rename my-tool.wasm"},
		{files: "my.tool.wasm", keys: "my_tool", says: "rename my.tool.wasm"},
		{files: "my tool.wasm", keys: "my_tool", says: "rename my tool.wasm"},
		{files: "my_tool.WASM", keys: "my_tool", says: "rename my_tool.WASM"},
		{files: "my_tool.wasm my-tool.wasm", keys: "my_tool", serves: "my_tool.wasm", says: "rename my-tool.wasm"},
		{files: "my_tool.wasm my-tool.wasm", serves: "my_tool.wasm", says: "rename my-tool.wasm"},
		{files: "my.tool.wasm my-tool.wasm", says: `more than one plugin is named "my_tool": my-tool.wasm, my.tool.wasm`},
		{files: "TIME.wasm time.wasm", says: "more than one plugin is named"},
		{files: "TIME.wasm time.wasm", keys: "time", says: "more than one plugin is named"},
		{files: "TIME.wasm", keys: "time", says: "names that differ only in case are one name, and time is a key of sallyport.yaml: rename TIME.wasm to time.wasm, or the key"},
	} {
		for range 2 {
			dir := t.TempDir()
			for _, file := range strings.Fields(strings.ReplaceAll(test.files, "my tool", "my\x00tool")) {
				honest().write(t, dir, strings.ReplaceAll(file, "\x00", " "))
			}
			o := options(t, dir)
			o.Plugins = map[string]Config{}
			for _, key := range strings.Fields(test.keys) {
				o.Plugins[key] = Config{}
			}
			r := open(t, o)
			var serves, says []string
			for _, s := range r.Plugins() {
				if s.State == StateLoaded && s.Dialect != "go" {
					serves = append(serves, filepath.Base(s.File))
				} else {
					says = append(says, s.Error)
				}
			}
			slices.Sort(serves)
			if strings.Join(serves, " ") != test.serves || !strings.Contains(strings.Join(says, "\n"), test.says) {
				t.Errorf("%s with %q: got %q serving, said %q; want %q, %q", test.files, test.keys, serves, says, test.serves, test.says)
			}
		}
	}
	if _, err := checkConfigs(map[string]Config{"time": {}, "Time": {}}); err == nil || !strings.Contains(err.Error(), `"Time" and "time" have one name`) {
		t.Errorf("two keys: got %v, want an error that they have one name", err)
	}
}

// A name is pinned once per state folder, ignoring case, by the first host: a file in a different case gets neither its
// grants nor its place, though a case-sensitive file system tells them apart.
func TestIdentity_ignoresCase(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Plugins = map[string]Config{"p": {}}
	closeNow(t, f.trusted("p.wasm", "p"))
	f.dir = t.TempDir()
	f.options.Dir = f.dir
	file := evil().write(t, f.dir, "P.wasm")
	for _, keys := range []map[string]Config{{"p": {}}, {}, {"P": {}}} {
		f.options.Plugins = keys
		r := f.start(lock.Options{})
		want := "names that differ only in case are one name, and p is pinned: rename P.wasm to p.wasm, or take \"p\" out of " + f.lock(lock.Options{}).Place()
		if s := status(r, "P"); s.State != StateHeld || s.Error != want || has(r, "P-say") {
			t.Errorf("with %v: got status %+v, want state %v with %q", keys, s, StateHeld, want)
		}
		closeNow(t, r)
		if _, known := f.lock(lock.Options{}).Pin("P"); known {
			t.Errorf("with %v: got a pin of P beside p, want none", keys)
		}
	}
	if err := os.Rename(file, filepath.Join(f.dir, "p.wasm")); err != nil {
		t.Fatal(err)
	}
	r := f.start(lock.Options{})
	wantSays(t, r, "p-say", "honest")
	if s := status(r, "p"); s.Waits != digestOf(evil()) {
		t.Errorf("got %+v, want s.Waits = digestOf(evil())", s)
	}
}

// The command suggested for a held plugin is complete: it selects this folder and these settings.
func TestIdentity_suggestsTheWholeCommand(t *testing.T) {
	f := newLockedFolder(t)
	f.options.Typed = "'/srv/my plugins' --config /etc/s.yaml"
	r := f.trusted("p.wasm", "p")
	evil().write(t, f.dir, "p.wasm")
	eventually(t, "it is held", func() bool {
		return strings.Contains(status(r, "p").Error, "serve; sallyport approve p '/srv/my plugins' --config /etc/s.yaml shows the difference")
	})
}
