package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry"
)

// installation is a home folder with a configuration, a plugin folder and a state folder.
type installation struct {
	Subject
	home string
}

// installed makes an installation without problems, with a configuration.
func installed(t *testing.T, config string) *installation {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_STATE_HOME", "")
	for _, dir := range []string{"plugins", "state"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(home, "sallyport.yaml")
	write(t, file, config)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("state", "", "")
	if err := flags.Set("state", filepath.Join(home, "state")); err != nil {
		t.Fatal(err)
	}
	s, broken, err := settings.LoadHost(settings.Options{File: file, Dir: filepath.Join(home, "plugins"), Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(home, "sallyport")
	write(t, program, "#!/bin/sh\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	return &installation{home: home, Subject: Subject{
		Settings: s, Broken: broken, Program: program, Now: time.Now(),
		Load: func(context.Context) (Folder, error) { return Folder{}, nil },
	}}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// requires is a configuration with a required identity.
const requires = "sources: {'oci://a.example/**': {require: {issuer: 'https://b.example', identity: ann@a.example}}}\n"

func TestExamine_namesEachFault(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		fault  func(*installation)
		level  Level
		topic  string
		text   string
	}{
		"a broken line": {"plugins: {a: {gramts: []}}", nil, Problem, "configuration", ":1: "},
		"a grant without a folder": {"plugins: {a: {grants: ['fs: read ~/gone/deep/**']}}", nil, Warning,
			"plugins.a.grants", "fs: read ~/gone/deep/** matches nothing"},
		"dev":      {"plugins: {a: {dev: true}}", nil, Warning, "plugins.a.dev", "without approval"},
		"no token": {"http: {addr: '127.0.0.1:8470', no_token: true}", nil, Warning, "http.no_token", "127.0.0.1:8470"},
		"a lock file": {"", func(i *installation) { write(t, filepath.Join(i.home, "state", "sallyport.lock"), "{") },
			Problem, "lock file", "no plugin serves"},
		"a shared state folder": {"", func(i *installation) { chmod(t, filepath.Join(i.home, "state"), 0o777) },
			Problem, "state folder", "(mode 0777)"},
		"a shared configuration": {"", func(i *installation) { chmod(t, filepath.Join(i.home, "sallyport.yaml"), 0o666) },
			Problem, "configuration", "(mode 0666)"},
		"no plugin folder": {"", func(i *installation) { remove(t, filepath.Join(i.home, "plugins")) }, Warning, "plugin folder", "there is no folder"},
		"a held plugin": {"", func(i *installation) {
			i.Load = statuses(registry.Status{Name: "a", File: "a.wasm", State: registry.StateHeld, Error: "the bytes changed"})
		}, Problem, "plugin a", "held: the bytes changed"},
		"a held update": {"", func(i *installation) {
			i.Load = statuses(registry.Status{Name: "a", File: "a.wasm", State: registry.StateLoaded, Error: "new bytes are held"})
		}, Warning, "plugin a", "new bytes are held"},
		"a folder that fails": {"", func(i *installation) {
			i.Load = func(context.Context) (Folder, error) { return Folder{}, errors.New("disk on fire") }
		}, Problem, "plugins", "disk on fire"},
		"a client without its program": {"", func(i *installation) {
			write(t, filepath.Join(i.home, ".claude.json"), `{"mcpServers":{"sallyport":{"command":"/nowhere/sallyport","args":["serve","/x"]}}}`)
		}, Problem, "client claude-code", "/nowhere/sallyport as sallyport, which cannot be started"},
		"a client on a lost folder": {"", func(i *installation) {
			write(t, filepath.Join(i.home, ".codex", "config.toml"), "[mcp_servers.'a;b']\ncommand = '"+i.Program+"'\nargs = ['serve', '/nowhere']\n")
		}, Warning, "client codex", "its entry a;b serves /nowhere"},
		"a broken client": {"", func(i *installation) { write(t, filepath.Join(i.home, ".claude.json"), "{") },
			Warning, "client claude-code", "not JSON"},
		"a clock that is behind": {"", func(i *installation) { i.Now = i.Now.Add(-time.Hour) }, Problem, "clock", "was changed at"},
		"a leftover": {"", func(i *installation) {
			write(t, filepath.Join(i.home, "state", "incoming-1", "x.wasm"), "x")
			i.Now = i.Now.Add(2 * time.Hour)
		}, Warning, "leftover", "incoming-1"},
		"a secret": {"", func(i *installation) {
			i.Secrets = func() ([]Secret, error) { return []Secret{{"KEY", "a", "unset: set it", ""}}, nil }
		}, Warning, "secret KEY", "a uses it: unset: set it"},
		"a rule for a group that is misspelled": {"groups: {ops: ['token:a']}\nplugins: {a: {callers: [{who: ['group:ops', 'group:opps']}]}}", nil,
			Warning, "plugins.a.callers", "it names group:opps, which nobody is in"},
		"limits for a scope without a sign-in": {"plugins: {a: {limits: {for: [{who: ['scope:read'], deadline: 1s}]}}}", nil,
			Warning, "plugins.a.limits.for", "it names scope:read, which nobody has"},
		"a quota of an unknown group": {"quotas: [{who: ['group:ops'], per: 1h, calls: 1}]", nil, Warning, "quotas", "group:ops"},
		"no program for signatures":   {requires, nil, Problem, "signatures", "sallyport-sigstore is missing"},
		"no trusted root":             {requires, nil, Problem, "signatures", "there is no trusted root"},
		"an old trusted root": {requires, func(i *installation) {
			write(t, filepath.Join(i.home, "state", "trusted_root.json"), "{}")
			i.Now = i.Now.AddDate(1, 0, 0)
		}, Note, "signatures", "days old"},
	} {
		t.Run(name, func(t *testing.T) {
			i := installed(t, c.config)
			if c.fault != nil {
				c.fault(i)
			}
			r := Examine(t.Context(), i.Subject)
			for _, f := range r.Findings {
				if f.Level == c.level && f.Topic == c.topic && strings.Contains(f.Text, c.text) {
					return
				}
			}
			t.Errorf("got %+v, want a %s about %s with %q", r.Findings, c.level, c.topic, c.text)
		})
	}
}

func TestExamine_namesTheCommandForAClientOnALostFolder(t *testing.T) {
	i := installed(t, "")
	write(t, filepath.Join(i.home, ".codex", "config.toml"), "[mcp_servers.'a;b']\ncommand = '"+i.Program+"'\nargs = ['serve', '/nowhere']\n")
	for _, f := range Examine(t.Context(), i.Subject).Findings {
		if f.Topic == "client codex" && f.Next == "sallyport client-config codex --remove --name 'a;b'" {
			return
		}
	}
	t.Error("got no command that removes the entry")
}

func TestExamine_findsNothingInAGoodInstallation(t *testing.T) {
	i := installed(t, requires+"plugins: {a: {grants: ['fs: read ~/plugins/**']}}")
	write(t, filepath.Join(i.home, "sallyport-sigstore"), "")
	write(t, filepath.Join(i.home, "state", "trusted_root.json"), "{}")
	i.Load = statuses(registry.Status{Name: "a", File: "a.wasm", State: registry.StateLoaded, Digest: "sha256:0123456789abcdef"})
	write(t, filepath.Join(i.home, "state", "sallyport.lock"), `{"version":1,"plugins":{"a":{"digest":"sha256:`+strings.Repeat("0", 64)+
		`","origin":{"from":"oci://a.example/a:1","digest":"sha256:`+strings.Repeat("1", 64)+`","signer":"minisign 00"}}}}`)
	write(t, filepath.Join(i.home, ".claude.json"), `{"mcpServers":{"sallyport":{"command":"`+i.Program+`","args":["serve","`+i.home+`/plugins"]}}}`)
	r := Examine(t.Context(), i.Subject)
	for _, f := range r.Findings {
		if f.Level != OK && f.Topic != "clean room" { // depends on the kernel
			t.Errorf("got %+v, want only good findings", f)
		}
	}
	var out strings.Builder
	if r.Print(&out); !strings.HasSuffix(out.String(), "\nno problems\n") || !strings.Contains(out.String(), "starts this program") ||
		!strings.Contains(strings.Join(strings.Fields(out.String()), " "), "from oci://a.example/a:1, signed by minisign 00") {
		t.Errorf("got %s, want no problems", &out)
	}
}

func TestReport_repairsFoldersAndModes(t *testing.T) {
	i := installed(t, "")
	remove(t, filepath.Join(i.home, "plugins"))
	chmod(t, filepath.Join(i.home, "state"), 0o777)
	write(t, filepath.Join(i.home, "state", "incoming-1", "x.wasm"), "x")
	i.Now = i.Now.Add(2 * time.Hour)
	r := Examine(t.Context(), i.Subject)
	r.Repair()
	if info, err := os.Stat(filepath.Join(i.home, "plugins")); err != nil || !info.IsDir() {
		t.Errorf("plugin folder: got %v, want it made", err)
	}
	if info, err := os.Stat(filepath.Join(i.home, "state")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("state folder: got %v, %v, want mode 0755", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(i.home, "state", "incoming-1")); err == nil {
		t.Error("leftover: got it there, want it removed")
	}
	if n := r.Count(Problem) + r.Count(Warning); n != 0 {
		t.Errorf("got %d findings after the repair, want none: %+v", n, r.Findings)
	}
	again := Examine(t.Context(), i.Subject)
	if n := again.Count(Problem) + again.Count(Warning); n != 0 {
		t.Errorf("got %d findings of a repaired installation, want none: %+v", n, again.Findings)
	}
}

// The target of a link may belong to another user: its mode is not changed, and the finding stays.
func TestRepair_changesNoTargetOfALink(t *testing.T) {
	i := installed(t, "")
	shared, plugins := filepath.Join(i.home, "shared"), filepath.Join(i.home, "plugins")
	if err := os.Rename(plugins, shared); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, plugins); err != nil {
		t.Fatal(err)
	}
	chmod(t, shared, 0o777)
	r := Examine(t.Context(), i.Subject)
	r.Repair()
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("target of the link: got %v, %v, want mode 0777", info.Mode(), err)
	}
	if n := r.Count(Problem); n != 1 {
		t.Errorf("got %d problems, want 1: %+v", n, r.Findings)
	}
}

// A link that takes the place of a folder between the examination and the repair is not followed.
func TestRepair_leavesWhatWasReplaced(t *testing.T) {
	i := installed(t, "")
	plugins, other := filepath.Join(i.home, "plugins"), filepath.Join(i.home, "other")
	chmod(t, plugins, 0o777)
	r := Examine(t.Context(), i.Subject)
	if err := errors.Join(os.Rename(plugins, plugins+"-away"), os.Mkdir(other, 0o700), os.Symlink(other, plugins)); err != nil {
		t.Fatal(err)
	}
	chmod(t, other, 0o777)
	r.Repair()
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("target of the link: got %v, %v, want mode 0777", info.Mode(), err)
	}
	if n := r.Count(Problem); n != 1 {
		t.Errorf("got %d problems, want 1: %+v", n, r.Findings)
	}
}

func TestReport_keepsAFindingWhoseRepairFails(t *testing.T) {
	var r Report
	r.add(Problem, "disk", "full").fixable("empty it", func() error { return errors.New("still full") })
	r.Repair()
	if f := r.Findings[0]; f.Fixed || r.Count(Problem) != 1 || !strings.Contains(f.Text, "still full") {
		t.Errorf("got %+v, want an unrepaired finding with the error", f)
	}
}

func statuses(all ...registry.Status) func(context.Context) (Folder, error) {
	return func(context.Context) (Folder, error) { return Folder{Plugins: all}, nil }
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
