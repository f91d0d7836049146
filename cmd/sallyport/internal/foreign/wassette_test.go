package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// put writes files into a new folder.
func put(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const policy = `version: "1.0"
description: "all kinds"
permissions:
  storage:
    allow:
    - uri: "fs:///srv/work/**"
      access: ["read", "write"]
    - {uri: "fs://notes", access: [read]}
    - {uri: "fs:///drop", access: [write]}
    - {uri: "fs:///a/*/b", access: [read]}
    - {uri: "http://x", access: [read]}
    - {uri: "fs:///none", access: []}
    deny:
    - {uri: "fs:///srv/work/keys", access: [read, write]}
  network:
    allow:
    - host: "api.example.com"
    - host: "https://rss.example.com/feed"
    - cidr: "10.0.0.0/8"
    deny:
    - host: "*.bad.example"
  environment:
    allow:
    - key: API_KEY
  resources:
    cpu: 50.0
    limits: {memory: 128Mi, cpu: 500m}
  ipc:
    allow: [{uri: "pipe://x"}]
extra: 1
`

func TestWassette_turnsPoliciesIntoGrants(t *testing.T) {
	dir := put(t, map[string]string{"get-weather.wasm": "x", "get-weather.policy.yaml": policy, "get-weather.policy.meta.json": "{}", "plain.wasm": "x", "notes.txt": ""})
	all, err := Wassette(dir, "", settings.Tree)
	if err != nil || len(all) != 2 || all[0].Name != "get-weather" || all[0].Source != filepath.Join(dir, "get-weather.wasm") || all[1].Name != "plain" || all[1].Grants != nil {
		t.Fatalf("got %+v, %v, want both components", all, err)
	}
	lines := grants(t, all[0]).String()
	for _, line := range []string{
		"fs: write /srv/work/**\n", "fs: read " + dir + "/notes/**\n", "fs: write /drop/**\n", "fs: read /srv/work/keys/**",
		"https://api.example.com/**\n", "https://rss.example.com/**\n", "https://*.**.bad.example/**",
	} {
		if !strings.Contains(lines, line) {
			t.Errorf("grants: got\n%s\nwant %s in it", lines, line)
		}
	}
	if n := strings.Count(lines, "deny: "); n != 2 || all[0].Memory != "128MiB" {
		t.Errorf("got %d denials and memory %s, want 2 and 128MiB\n%s", n, all[0].Memory, lines)
	}
	told := remarksText(all[0].Remarks)
	for _, g := range all[0].Grants {
		told += g.Why + "\n"
	}
	for _, part := range []string{
		"permissions.storage.allow has fs://notes, which is " + dir + "/notes, the path that the plugin has to use here",
		"has fs:///drop; wider: a line that allows to write allows to read",
		`10: permissions.storage.allow: "fs:///a/*/b" is not carried over: want fs:// and a path`,
		`11: permissions.storage.allow: "http://x" is not carried over`,
		`12: permissions.storage.allow: "fs:///none" is not carried over: its access names neither read nor write`,
		`19: permissions.network.allow: "10.0.0.0/8" is not carried over: a line names hosts`,
		"24: permissions.environment.allow: API_KEY is not carried over: config: {API_KEY: VALUE} gives the value",
		"26: permissions.resources.cpu: not carried over", "27: permissions.resources.limits: only the memory is carried over",
		"29: permissions.ipc: not carried over", "30: extra: not known",
	} {
		if !strings.Contains(told, part) {
			t.Errorf("remarks: got\n%s\nwant %q in it", told, part)
		}
	}
	if all[0].File != filepath.Join(dir, "get-weather.policy.yaml") {
		t.Errorf("got remarks of %q, want the policy file", all[0].File)
	}
}

// A component whose policy cannot be read is not installed, and the others are.
func TestWassette_failsAComponentWithABadPolicy(t *testing.T) {
	dir := put(t, map[string]string{"a.wasm": "x", "a.policy.yaml": "permissions: {a: &x 1}", "b.wasm": "x"})
	if err := os.Mkdir(filepath.Join(dir, "c.policy.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.wasm"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Wassette(dir, "", settings.Tree)
	if err != nil || len(all) != 3 || all[0].Err == nil || all[1].Err != nil || all[2].Err == nil || !strings.Contains(all[2].Err.Error(), "is not a regular file") {
		t.Errorf("got %+v, %v, want an error of the first and the last", all, err)
	}
}

func TestWassette_readsOneComponent(t *testing.T) {
	dir := put(t, map[string]string{"a.wasm": "x", "a.policy.yaml": policy, "other.yaml": "permissions: {}"})
	for from, c := range map[string]struct {
		policy, name string
		grants       int
	}{
		filepath.Join(dir, "a.wasm"):            {"", "a", 7},
		filepath.Join(dir, "a.wasm") + " ":      {"", "", -1},
		dir:                                     {filepath.Join(dir, "other.yaml"), "", -1},
		filepath.Join(dir, "none"):              {"", "", -1},
		t.TempDir():                             {"", "", -1},
		"oci://ghcr.io/x/get-weather-js:latest": {"", "get-weather-js", 0},
		"oci://ghcr.io:443/x/time@sha256:0":     {filepath.Join(dir, "a.policy.yaml"), "time", 6},
		"https://x.example/y/fetch.wasm":        {filepath.Join(dir, "none.yaml"), "", -1},
	} {
		all, err := Wassette(from, c.policy, settings.Tree)
		if (err != nil) != (c.grants < 0) {
			t.Errorf("%s: got %v, want %d grants", from, err, c.grants)
			continue
		}
		if err == nil && (len(all) != 1 || all[0].Name != c.name || all[0].Source != from || len(all[0].Grants) != c.grants) {
			t.Errorf("%s: got %+v, want %s with %d grants", from, all[0], c.name, c.grants)
		}
	}
}

// FuzzWassette: the grants of every policy that is read are valid.
func FuzzWassette(f *testing.F) {
	f.Add([]byte(policy))
	f.Add([]byte(`{"permissions":{"network":{"allow":[{"host":"\u0000"},{"host":"http://"}],"deny":[{"host":"\"x"}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := put(t, map[string]string{"a.wasm": "x", "a.policy.yaml": string(text)})
		all, err := Wassette(dir, "", settings.Tree)
		if err == nil && all[0].Err == nil {
			grants(t, all[0])
		}
	})
}
