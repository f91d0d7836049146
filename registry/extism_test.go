package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// sayer returns a guest that answers with a text.
func sayer(text string) guest { return guest{manifest: tools("say"), answer: says(text)} }

// manifestFile writes an Extism manifest for a module.
func manifestFile(t testing.TB, dir, name, module, rest string) string {
	t.Helper()
	return writeFile(t, dir, name, []byte(`{"wasm":[{"path":"`+module+`"`+rest))
}

// A manifest is published as a plugin under its own name; its module is not a second plugin.
func TestExtismFile_servesItsModule(t *testing.T) {
	dir := t.TempDir()
	sayer("hello").write(t, dir, "code.wasm")
	manifestFile(t, dir, "greeter.json", "code.wasm", `}]}`)
	r := open(t, options(t, dir))
	if got, err := callText(t, r, "greeter-say", catalog.Call{}); err != nil || got != "hello" {
		t.Fatalf("got %q %v, want \"hello\"", got, err)
	}
	if has(r, "code-say") {
		t.Errorf("got tools %q, want no code-say", toolNames(r.Snapshot()))
	}
	if s := status(r, "greeter"); filepath.Base(s.File) != "greeter.json" || s.Digest == "" || len(s.Warnings) > 0 {
		t.Errorf("got %+v, want filepath.Base(s.File) = \"greeter.json\", s.Digest not \"\", len(s.Warnings) = 0", s)
	}
}

// A plugin configured by name stays a plugin, even if a manifest names its module.
func TestExtismFile_claimsNoConfiguredPlugin(t *testing.T) {
	dir := t.TempDir()
	sayer("hello").write(t, dir, "code.wasm")
	manifestFile(t, dir, "other.json", "code.wasm", `}]}`)
	o := options(t, dir)
	o.Plugins = map[string]Config{"code": {}}
	if r := open(t, o); !has(r, "code-say") || !has(r, "other-say") {
		t.Errorf("got %+v, want the tool code-say, the tool other-say", r.Plugins())
	}
}

// New manifests take no module from a plugin that has its own manifest, in any order of reading.
func TestExtismFile_takesNoModuleOfAnotherManifest(t *testing.T) {
	dir := t.TempDir()
	sayer("hello").write(t, dir, "code.wasm")
	manifestFile(t, dir, "code.json", "code.wasm", `}]}`)
	for i := range 6 {
		manifestFile(t, dir, fmt.Sprintf("other%d.json", i), "code.wasm", `}]}`)
	}
	o := options(t, dir)
	o.Plugins = map[string]Config{"code": {}}
	r := open(t, o)
	for range 20 {
		r.inputs.mu.Lock()
		plans := r.assembler.planner().plans()
		r.inputs.mu.Unlock()
		var of []string
		for _, p := range plans {
			if p.name == "code" {
				of = append(of, filepath.Base(p.path))
			}
		}
		if len(of) != 1 || of[0] != "code.json" {
			t.Fatalf("got the plugin in %q, want only code.json", of)
		}
	}
}

// A manifest that has not settled yet already owns its module, which has: the module is neither listed nor pinned as a
// separate plugin.
func TestExtismFile_ownsItsModuleBeforeItSettles(t *testing.T) {
	f := newLockedFolder(t)
	sayer("one").write(t, f.dir, "code.wasm")
	closeNow(t, open(t, options(t, f.dir))) // loads it and pins nothing
	manifest := manifestFile(t, f.dir, "letters.json", "code.wasm", `}]}`)
	coming := time.Now().Add(time.Hour) // its age is unknown, so the host has to wait until it settles
	if err := os.Chtimes(manifest, coming, coming); err != nil {
		t.Fatal(err)
	}
	r := f.start(lock.Options{}) // pins the plugins seen
	if !has(r, "letters-say") || has(r, "code-say") {
		t.Errorf("got %+v, want the tool letters-say, no tool code-say", r.Plugins())
	}
	if pin, known := r.approvals.lock.Pin("code"); known {
		t.Errorf("module: got pin %+v, want none", pin)
	}
}

// A module in a subfolder is watched, and so is its manifest.
func TestExtismFile_followsChanges(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "deep")
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	sayer("one").write(t, deep, "p.wasm")
	path := manifestFile(t, dir, "p.json", "deep/p.wasm", `}]}`)
	r := open(t, options(t, dir))
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "one" {
		t.Fatalf("got %q %v, want \"one\"", got, err)
	}
	before := status(r, "p").Digest
	sayer("two").write(t, deep, "p.wasm")
	eventually(t, "the module is replaced", func() bool { return status(r, "p").Digest != before })
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "two" {
		t.Errorf("got %q %v, want \"two\"", got, err)
	}
	writeFile(t, dir, "p.json", []byte("no JSON"))
	eventually(t, "the manifest is broken", func() bool {
		return strings.Contains(strings.Join(status(r, "p").Warnings, " "), "the old one is")
	})
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "two" {
		t.Errorf("got %q %v, want \"two\"", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manifest is gone", func() bool { return !has(r, "p-say") })
}

// A manifest can only lower limits, and its values yield to the operator's.
func TestExtismFile_lowersLimitsOnly(t *testing.T) {
	dir := t.TempDir()
	defaults := runtime.Limits{Deadline: 10 * time.Second}
	raw := `{"wasm":[{"path":"p.wasm"}],"config":{"a":"manifest","b":"manifest"},"memory":{"max_pages":2},"timeout_ms":500}`
	low, _, err := extismfile.Read(writeFile(t, dir, "low.json", []byte(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Values: map[string]string{"a": "operator"}}.narrowed(low.Manifest, defaults)
	if c.Limits.Memory != 2<<16 || c.Limits.Deadline != 500*time.Millisecond || c.Values["a"] != "operator" || c.Values["b"] != "manifest" {
		t.Errorf("got %+v, want 2 pages, 500ms, a of the operator, b of the manifest", c)
	}
	raw = `{"wasm":[{"path":"p.wasm"}],"memory":{"max_pages":65536},"timeout_ms":3600000}`
	high, _, err := extismfile.Read(writeFile(t, dir, "high.json", []byte(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c = Config{Limits: runtime.Limits{Memory: 1 << 20}}.narrowed(high.Manifest, defaults)
	if c.Limits.Memory != 1<<20 || c.Limits.Deadline != 10*time.Second {
		t.Errorf("got %+v, want c.Limits.Memory = 1<<20, c.Limits.Deadline = 10*time.Second", c.Limits)
	}
}

// The error for each unusable manifest names the reason and a remedy.
func TestExtismFile_errorsNameTheRemedy(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	sayer("in").write(t, dir, "in.wasm")
	far := sayer("far").write(t, outside, "far.wasm")
	if err := os.Symlink(far, filepath.Join(dir, "link.wasm")); err != nil {
		t.Fatal(err)
	}
	digest := fileid.Digest(sayer("in").wasm())
	cases := []struct {
		name  string
		text  string
		state State
		want  string
	}{
		{"hash", `{"wasm":[{"path":"in.wasm","hash":"` + strings.Repeat("0", 64) + `"}]}`, StateFailed,
			"the module is " + digest + ", and the manifest wants sha256:000"},
		{"missing", `{"wasm":[{"path":"none.wasm"}]}`, StateFailed, "there is no file none.wasm, which the manifest names"},
		{"url", `{"wasm":[{"url":"https://x.example/a.wasm"}]}`, StateHeld,
			"takes its module from https://x.example/a.wasm: it is for the operator to name such a place; to allow it, save the module where you trust it " +
				"and write in sallyport.yaml, under plugins: url: {source: /path/to/module.wasm}"},
		{"above", `{"wasm":[{"path":"../far.wasm"}]}`, StateHeld, "takes its module from ../far.wasm, outside of its folder"},
		{"linked", `{"wasm":[{"path":"link.wasm"}]}`, StateHeld, "outside of its folder"},
		{"absolute", `{"wasm":[{"path":"` + far + `"}]}`, StateHeld, "outside of its folder"},
		{"two", `{"wasm":[{"path":"in.wasm"},{"path":"in.wasm"}]}`, StateFailed, "links 2 modules"},
		{"other", `{"name":"some-package"}`, StateFailed, `it has no list "wasm"`},
		{"large", `{"wasm":[{"path":"in.wasm"}],"x":"` + strings.Repeat("x", 2<<20) + `"}`, StateFailed, "without a module in it over 1 MiB"},
	}
	for _, c := range cases {
		writeFile(t, dir, c.name+".json", []byte(c.text))
	}
	r := open(t, options(t, dir))
	for _, c := range cases {
		if s := status(r, c.name); s.State != c.state || !strings.Contains(s.Error, c.want) {
			t.Errorf("%s: got %s %s, want state = %v, error with %v", c.name, s.State, s.Error, c.state, c.want)
		}
	}
}

// A source in the configuration replaces the manifest's module; the manifest's values and limits apply to it.
func TestExtismFile_yieldsToTheSettings(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	far := sayer("far").write(t, outside, "far.wasm")
	digest := strings.TrimPrefix(fileid.Digest(sayer("far").wasm()), "sha256:")
	writeFile(t, dir, "p.json", []byte(`{"wasm":[{"url":"https://x.example/a.wasm","hash":"`+digest+`"}],"memory":{"max_pages":1}}`))
	o := options(t, dir)
	o.Plugins = map[string]Config{"p": {Source: far}}
	r := open(t, o)
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "far" {
		t.Errorf("got %q %v, want \"far\"", got, err)
	}
	writeFile(t, outside, "far.wasm", sayer("changed").wasm())
	eventually(t, "another digest", func() bool { return status(r, "p").State == StateFailed })
	if err := r.Configure(nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "held", func() bool { return status(r, "p").State == StateHeld })
}

// A manifest can be loaded by its path, like a module, and a configuration can name one in any folder.
func TestExtismFile_loadsByItsPath(t *testing.T) {
	dir := t.TempDir()
	sayer("hello").write(t, dir, "code.wasm")
	path := manifestFile(t, dir, "one.json", "code.wasm", `}],"allowed_hosts":["*.example.com","{a,b}"],"allowed_paths":{"ro:/srv":"/srv"}}`)
	o := options(t, "")
	o.Files = []File{{Path: path}}
	if got, err := callText(t, open(t, o), "one-say", catalog.Call{}); err != nil || got != "hello" {
		t.Errorf("got %q %v, want \"hello\"", got, err)
	}
	o = options(t, t.TempDir())
	o.Plugins = map[string]Config{"named": {Source: path}}
	r := open(t, o)
	if got, err := callText(t, r, "named-say", catalog.Call{}); err != nil || got != "hello" {
		t.Errorf("got %q %v, want \"hello\"", got, err)
	}
	warnings := strings.Join(status(r, "named").Warnings, "\n")
	if !strings.Contains(warnings, "asks for 2 hosts and paths, and nothing is granted") || !strings.Contains(warnings, `"{a,b}" is not a name with stars`) {
		t.Errorf("got warnings %s, want the hosts that are not granted and the bad name", warnings)
	}
}
