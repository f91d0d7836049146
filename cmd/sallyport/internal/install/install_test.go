package install

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/source"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// site is a home folder with a plugin folder, a state folder and a configuration.
type site struct {
	t    *testing.T
	home string
}

func newSite(t *testing.T, config string) *site {
	t.Helper()
	s := &site{t, t.TempDir()}
	t.Setenv("HOME", s.home)
	put(t, filepath.Join(s.home, "sallyport.yaml"), []byte(config))
	return s
}

func put(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *site) dir() string { return filepath.Join(s.home, "plugins") }

func (s *site) settings() *settings.Settings {
	s.t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("state", "", "")
	if err := flags.Set("state", filepath.Join(s.home, "state")); err != nil {
		s.t.Fatal(err)
	}
	loaded, err := settings.Load(settings.Options{File: filepath.Join(s.home, "sallyport.yaml"), Dir: s.dir(), Flags: flags})
	if err != nil {
		s.t.Fatal(err)
	}
	return loaded
}

// prepare prepares an artifact as a plugin of a name.
func (s *site) prepare(a *source.Artifact, name string, replace bool) (*Candidate, error) {
	s.t.Helper()
	c, err := Prepare(s.t.Context(), Options{Settings: s.settings(), Logger: slog.New(slog.DiscardHandler), Artifact: a, Name: name, Replace: replace})
	if err == nil {
		s.t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// install installs an artifact with grants.
func (s *site) install(a *source.Artifact, grants ...string) {
	s.t.Helper()
	c, err := s.prepare(a, "", false)
	if err == nil {
		err = c.Commit(s.t.Context(), grants)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// serving returns the digest that a host serves for a plugin, and its grants; "" if it serves none.
func (s *site) serving(name string) (digest string, grants []string) {
	s.t.Helper()
	set := s.settings()
	l, err := host.OpenLock(set, lock.Options{Locked: true})
	if err != nil {
		s.t.Fatal(err)
	}
	h, err := host.Open(s.t.Context(), host.Options{Settings: set, Logger: slog.New(slog.DiscardHandler), Lock: l})
	if err != nil {
		s.t.Fatal(err)
	}
	defer h.Close(context.WithoutCancel(s.t.Context()))
	if err := h.Registry.Ready(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range h.Registry.Plugins() {
		if p.Name == name && p.State == registry.StateLoaded {
			return p.Digest, p.Grants
		}
	}
	return "", nil
}

// speaker returns a plugin that says a text.
func speaker(says string) []byte {
	m := wasmtest.Answering(`{"result":{"content":[{"type":"text","text":"` + says + `"}]}}`)
	m.Custom("sallyport.manifest", []byte(`{"name":"speaker","version":"1.0.0","wants":[{"net":"GET https://a.example/**","why":"speech"}],`+
		`"tools":[{"name":"say","description":"Says it.","inputSchema":{"type":"object"}}]}`))
	return m.Bytes()
}

// artifact returns a fetched plugin.
func artifact(from string, content []byte) *source.Artifact {
	return &source.Artifact{Stem: "speaker", Ext: ".wasm", Content: content, Origin: lock.Origin{From: from, Digest: fileid.Digest(content)}}
}

const (
	registryA = "oci://a.example/speaker:1"
	registryB = "oci://b.example/speaker:1"
	wanted    = "net: GET https://a.example/**"
)

var errPower = errors.New("the power is cut")

// cut stops a candidate before a step.
func (c *Candidate) cut(at string) {
	c.before = func(step string) error {
		if step == at {
			return errPower
		}
		return nil
	}
}

// After a power cut at any step of add, nothing of the plugin serves until its file is there, and then with its grants.
func TestCommit_servesNothingOfANewPluginBeforeItsLastStep(t *testing.T) {
	for _, at := range []string{"pin", "grants", "file"} {
		t.Run(at, func(t *testing.T) {
			s := newSite(t, "# mine\n")
			c, err := s.prepare(artifact(registryA, speaker("one")), "", false)
			if err != nil {
				t.Fatal(err)
			}
			c.cut(at)
			if err := c.Commit(t.Context(), []string{wanted}); !errors.Is(err, errPower) {
				t.Fatalf("got %v, want the cut", err)
			}
			if got, _ := s.serving("speaker"); got != "" {
				t.Errorf("after a cut before %s: got %s served, want nothing", at, got)
			}
			s.install(artifact(registryA, speaker("one")), wanted)
			if got, grants := s.serving("speaker"); got != fileid.Digest(speaker("one")) || len(grants) != 1 || grants[0] != wanted {
				t.Errorf("added again: got %s with %q, want the plugin with its grant", got, grants)
			}
		})
	}
}

// After a power cut at any step of an import, the plugin serves nothing, and then within its section.
func TestCommit_writesTheSectionBeforeThePluginServes(t *testing.T) {
	section := settings.Section{Memory: "16MiB", Hide: []string{"say"}}
	for _, at := range []string{"section", "pin", "grants", "file", ""} {
		s := newSite(t, "# mine\n")
		c, err := s.prepare(artifact(registryA, speaker("one")), "", false)
		if err != nil {
			t.Fatal(err)
		}
		c.Section = section
		c.cut(at)
		if err := c.Commit(t.Context(), []string{wanted}); (at != "") != errors.Is(err, errPower) || at == "" && err != nil {
			t.Fatalf("got %v, want the cut", err)
		}
		if got, _ := s.serving("speaker"); (got != "") != (at == "") {
			t.Errorf("after a cut before %q: got %q served, want it after the last step alone", at, got)
		}
		if at == "" {
			continue
		}
		if c, err = s.prepare(artifact(registryA, speaker("one")), "", false); err == nil {
			c.Section = section
			err = c.Commit(t.Context(), []string{wanted})
		}
		if err != nil {
			t.Fatalf("again after a cut before %s: %v", at, err)
		}
		got, grants := s.serving("speaker")
		p := s.settings().Plugins
		if got == "" || len(grants) != 1 || len(p) != 1 || p[0].Limits.Memory != 16<<20 || len(p[0].Publish.Hide) != 1 {
			t.Errorf("again after a cut before %s: got %q with %q and %+v, want the plugin within its section", at, got, grants, p)
		}
	}
}

// An update that brings a section narrows the old bytes first, which serve until the new ones are pinned.
func TestCommit_writesTheSectionOfAnUpdateFirst(t *testing.T) {
	before, after := speaker("one"), speaker("two")
	for at, hides := range map[string]int{"section": 0, "copy": 1, "file": 1, "pin": 1} {
		s := newSite(t, "")
		s.install(artifact(registryA, before))
		c, err := s.prepare(artifact(registryA, after), "", false)
		if err != nil {
			t.Fatal(err)
		}
		c.Section = settings.Section{Hide: []string{"say"}}
		c.cut(at)
		if err := c.Commit(t.Context(), nil); !errors.Is(err, errPower) {
			t.Fatalf("got %v, want the cut", err)
		}
		if got, _ := s.serving("speaker"); got != fileid.Digest(before) || len(s.settings().Plugins) != hides {
			t.Errorf("after a cut before %s: got %s served and %+v, want the old bytes and %d section", at, got, s.settings().Plugins, hides)
		}
	}
}

// After a power cut at any step of update before the pin, the old bytes serve.
func TestCommit_servesTheOldBytesUntilTheNewOnesArePinned(t *testing.T) {
	before, after := speaker("one"), speaker("two")
	for at, want := range map[string][]byte{"copy": before, "file": before, "pin": before, "grants": after} {
		for _, lost := range []bool{false, true} {
			s := newSite(t, "")
			s.install(artifact(registryA, before))
			if lost { // the copies of approved bytes expired
				if err := os.RemoveAll(filepath.Join(s.home, "state", "approved")); err != nil {
					t.Fatal(err)
				}
			}
			c, err := s.prepare(artifact(registryA, after), "", false)
			if err != nil {
				t.Fatal(err)
			}
			c.cut(at)
			if err := c.Commit(t.Context(), []string{wanted}); !errors.Is(err, errPower) {
				t.Fatalf("got %v, want the cut", err)
			}
			if got, grants := s.serving("speaker"); got != fileid.Digest(want) || len(grants) != 0 {
				t.Errorf("after a cut before %s (copies lost: %v): got %s with %q, want %s without a grant", at, lost, got, grants, fileid.Digest(want))
			}
			if at == "grants" {
				continue // these bytes are installed, and grants are added by hand
			}
			s.install(artifact(registryA, after), wanted)
			if got, grants := s.serving("speaker"); got != fileid.Digest(after) || len(grants) != 1 {
				t.Errorf("updated again after a cut before %s: got %s with %q, want the new bytes with the grant", at, got, grants)
			}
		}
	}
}

// The operator's answer is about the state that was shown: bytes that were approved, or a file that was put there, during
// the question stay.
func TestCommit_refusesANameThatWasTakenMeanwhile(t *testing.T) {
	one, two := speaker("one"), speaker("two")
	for name, c := range map[string]struct {
		taken func(*site)
		want  string
		bytes []byte // that serve
	}{
		"by an installation": {func(s *site) { s.install(artifact(registryB, two)) }, "other bytes of speaker were approved in the meantime", two},
		"by hand":            {func(s *site) { put(t, filepath.Join(s.dir(), "speaker.wasm"), two) }, "which was put there by hand", nil},
		"by the settings": {func(s *site) {
			put(t, filepath.Join(s.home, "sallyport.yaml"), []byte("plugins: {speaker: {source: /x/y.wasm}}"))
		}, "by source: in the configuration", nil},
		"by a digest": {func(s *site) {
			put(t, filepath.Join(s.home, "sallyport.yaml"), []byte("plugins: {speaker: {digest: 'sha256:"+strings.Repeat("0", 64)+"'}}"))
		}, "digest: of the settings names", nil},
		"by nobody": {func(*site) {}, "", one},
	} {
		s := newSite(t, "")
		first, err := s.prepare(artifact(registryA, one), "", false)
		if err != nil {
			t.Fatal(err)
		}
		c.taken(s)
		if err := first.Commit(t.Context(), []string{wanted}); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		content, err := os.ReadFile(filepath.Join(s.dir(), "speaker.wasm"))
		if c.bytes != nil && (err != nil || fileid.Digest(content) != fileid.Digest(c.bytes)) {
			t.Errorf("%s: got %s, %v, want the file unchanged", name, fileid.Digest(content), err)
		}
		if got, grants := s.serving("speaker"); c.bytes != nil && got != fileid.Digest(c.bytes) || c.want != "" && len(grants) != 0 {
			t.Errorf("%s: got %s served with %q, want %s", name, got, grants, fileid.Digest(c.bytes))
		}
	}
}

// Plugins that are installed at the same time are all installed, each with its own grants.
func TestCommit_keepsTheGrantsOfSeveralAtATime(t *testing.T) {
	s := newSite(t, "# mine\n")
	names := []string{"ann", "ben", "cyd", "dan", "eve", "fay"}
	var all []*Candidate
	for _, name := range names {
		c, err := s.prepare(artifact("oci://a.example/"+name+":1", speaker(name)), name, false)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	var group sync.WaitGroup
	for _, c := range all {
		group.Go(func() {
			if err := c.Commit(t.Context(), []string{"net: GET https://" + c.Name + ".example/"}); err != nil {
				t.Errorf("%s: got %v, want it installed", c.Name, err)
			}
		})
	}
	group.Wait()
	for _, c := range all {
		if digest, grants := s.serving(c.Name); digest != c.Description.Digest || len(grants) != 1 || !strings.Contains(grants[0], c.Name) {
			t.Errorf("%s: got digest %s and grants %q, want its own", c.Name, digest, grants)
		}
	}
}

// Bytes that were approved and replaced are named when they come back, with any version that they state.
func TestPrepare_namesBytesThatComeBack(t *testing.T) {
	s := newSite(t, "")
	for i, c := range []struct {
		says string
		want bool
	}{{"one", false}, {"two", false}, {"one", true}} {
		candidate, err := s.prepare(artifact(registryA, speaker(c.says)), "", false)
		if err != nil {
			t.Fatal(err)
		}
		if candidate.Returned != c.want {
			t.Errorf("installation %d: got returned %v, want %v", i, candidate.Returned, c.want)
		}
		if err := candidate.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrepare_leavesNoTrace(t *testing.T) {
	s := newSite(t, "# mine\n")
	c, err := s.prepare(artifact(registryA, speaker("one")), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Wants) != 1 || c.Review == nil || !c.New() || c.Description.Manifest.Name != "speaker" {
		t.Errorf("got %+v, want the plugin described", c)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.home, "state", stagePrefix+"*"))
	if got, _ := s.serving("speaker"); err != nil || len(left) != 0 || got != "" || exists(c.File) {
		t.Errorf("got %q staged and %q served, %v, want nothing of a plugin that was only looked at", left, got, err)
	}
}

// A name belongs to the plugin that had it first.
func TestPrepare_refusesClaimedNames(t *testing.T) {
	one, two := speaker("one"), speaker("two")
	for name, c := range map[string]struct {
		config  string
		setup   func(*site)
		from    string
		chosen  string
		want    string // "" is success
		replace string // with Replace
	}{
		"free":          {"", nil, registryA, "", "", ""},
		"same source":   {"", func(s *site) { s.install(artifact(registryA, one)) }, registryA, "", "", ""},
		"other source":  {"", func(s *site) { s.install(artifact(registryA, one)) }, registryB, "", "belongs to the plugin from " + registryA, ""},
		"by hand":       {"", func(s *site) { put(t, filepath.Join(s.dir(), "speaker.wasm"), one) }, registryA, "", "put there by hand", ""},
		"other kind":    {"", func(s *site) { put(t, filepath.Join(s.dir(), "speaker.skill"), one) }, registryA, "", "speaker.skill", "speaker.skill"},
		"a script":      {"", func(s *site) { put(t, filepath.Join(s.dir(), "speaker.ts"), nil) }, registryA, "", "speaker.ts", "speaker.ts"},
		"other case":    {"", func(s *site) { put(t, filepath.Join(s.dir(), "Speaker.wasm"), one) }, registryA, "", "Speaker.wasm", "Speaker.wasm"},
		"by source":     {"plugins: {speaker: {source: /x/y.wasm}}", nil, registryA, "", "by source: in the configuration", "by source:"},
		"alike":         {"", func(s *site) { put(t, filepath.Join(s.dir(), "5peaker.wasm"), one) }, registryA, "", "looks like 5peaker", "looks like"},
		"alike, chosen": {"", func(s *site) { put(t, filepath.Join(s.dir(), "5peaker.wasm"), one) }, registryA, "speaker", "", ""},
		"alike key":     {"plugins: {speak_er: {}}", nil, registryA, "", "looks like speak_er", "looks like"},
		"host":          {"", nil, registryA, "sallyport", "is the host's own", "is the host's own"},
		"odd":           {"", nil, registryA, "../x", "use letters, digits", "use letters, digits"},
		"digest key":    {"plugins: {speaker: {digest: 'sha256:" + strings.Repeat("0", 64) + "'}}", nil, registryA, "", "digest: of the settings names", "digest:"},
		"other folder": {"", func(s *site) {
			other := &site{s.t, s.home}
			c, err := other.prepare(artifact(registryA, one), "", false)
			if err != nil {
				t.Fatal(err)
			}
			c.File = filepath.Join(s.home, "elsewhere", "speaker.wasm")
			c.Review = c.Review.Placed(c.File, c.Origin)
			if err := c.Commit(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}, registryA, "", filepath.Join("elsewhere", "speaker.wasm"), "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.config)
			if c.setup != nil {
				c.setup(s)
			}
			for replace, want := range map[bool]string{false: c.want, true: c.replace} {
				got, err := s.prepare(artifact(c.from, two), c.chosen, replace)
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("replace %v: got %+v, %v, want %q", replace, got, err, want)
				}
			}
		})
	}
}

func TestPrepare_refusesInstalledBytes(t *testing.T) {
	s := newSite(t, "")
	s.install(artifact(registryA, speaker("one")))
	if _, err := s.prepare(artifact(registryA, speaker("one")), "", false); !errors.Is(err, ErrInstalled) {
		t.Errorf("got %v, want %v", err, ErrInstalled)
	}
	if _, err := s.prepare(artifact(registryA, []byte("hello")), "", false); err == nil || !strings.Contains(err.Error(), "not a WebAssembly module") {
		t.Errorf("got %v, want the bytes refused", err)
	}
}

func TestCommit_keepsTheOrigin(t *testing.T) {
	s := newSite(t, "")
	s.install(artifact(registryA, speaker("one")))
	l, err := host.OpenLock(s.settings(), lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pin, _ := l.Pin("speaker")
	if pin.Origin == nil || pin.Origin.From != registryA || pin.Folder != s.dir() || pin.File != "speaker.wasm" {
		t.Errorf("got %+v, want the origin and the place", pin)
	}
}

func TestRemove_keepsThePinUnlessItIsPurged(t *testing.T) {
	s := newSite(t, "plugins: {speaker: {grants: ['"+wanted+"']}}")
	if _, err := PrepareRemoval(s.settings(), "speaker"); !errors.Is(err, ErrAbsent) {
		t.Errorf("an absent plugin: got %v, want %v", err, ErrAbsent)
	}
	for _, purge := range []bool{false, true} {
		s.install(artifact(registryA, speaker("one")))
		r, err := PrepareRemoval(s.settings(), "speaker")
		if err != nil || len(r.Files) != 1 || r.Grants != 1 {
			t.Fatalf("got %+v, %v, want its file and its grant", r, err)
		}
		recorded := host.Recordings(s.settings())
		if err := errors.Join(recorded.Put(&recording.Call{Plugin: "speaker", Time: time.Now()}, time.Hour), r.Remove(t.Context(), purge)); err != nil {
			t.Fatal(err)
		}
		if calls, err := recorded.Calls("speaker", time.Hour); err != nil || len(calls.All) == 0 != purge {
			t.Errorf("purge %v: got %d recorded calls, %v, want them removed only by a purge", purge, len(calls.All), err)
		}
		l, err := host.OpenLock(s.settings(), lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if pin, _ := l.Pin("speaker"); (pin.Digest == "") != purge || exists(r.Files[0]) {
			t.Errorf("purge %v: got pin %q, want it removed only by a purge, and the file always", purge, pin.Digest)
		}
	}
}

// A removal that ended behind the module is completed by the next one: its tool file would describe a later module of
// that name.
func TestRemove_removesTheToolFileOfAMissingModule(t *testing.T) {
	s := newSite(t, "")
	s.install(artifact(registryA, speaker("one")))
	tool := filepath.Join(s.dir(), "speaker.tool.yaml")
	put(t, tool, []byte("tools: []"))
	if err := os.Remove(filepath.Join(s.dir(), "speaker.wasm")); err != nil {
		t.Fatal(err)
	}
	r, err := PrepareRemoval(s.settings(), "speaker")
	if err != nil || len(r.Files) != 1 || r.Files[0] != tool {
		t.Fatalf("got %+v, %v, want the tool file", r, err)
	}
	if err := r.Remove(t.Context(), true); err != nil || exists(tool) {
		t.Errorf("got %v, want the tool file removed", err)
	}
}
