package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// reaches reports whether a plugin with write access to everything, and to this path by name, can write it.
func reaches(t *testing.T, h *hostfuncs.Host, path string) bool {
	t.Helper()
	var lines []grant.Grant
	for _, text := range []string{"fs: write /**", "fs: write " + filepath.ToSlash(path)} {
		line, err := grant.ParseLine(text)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	p := h.Plugin(hostfuncs.Plugin{Name: "wide", Grants: grant.NewSet(lines...)})
	defer p.Close()
	reached := false
	for _, verb := range []string{"read ", "write "} {
		x, err := p.Explain(hostfuncs.Call{}, verb+path)
		if err != nil {
			t.Fatal(err)
		}
		if !x.Allowed && !strings.HasSuffix(x.Reason, "protected from every grant") {
			t.Errorf("%s%s: got reason %s, want it protected from every grant", verb, path, x.Reason)
		}
		reached = reached || x.Allowed
	}
	return reached
}

// The default files of any host or command of this user are denied to plugins of a host with other folders, as are this
// program and the files of secrets, including those of disabled plugins.
func TestProtected_coversOtherHostsAndSecrets(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "AppData": filepath.Join(home, "roaming"), "XDG_STATE_HOME": filepath.Join(home, "xstate"), "XDG_CONFIG_HOME": filepath.Join(home, "xconfig")} {
		t.Setenv(name, value)
	}
	t.Chdir(home)
	s := configured(t, `plugins: {off: {disabled: true, grants: [{secret: KEY, from: file ~/keys/one, to: "https://a.example/**"}]}, on: {grants: [{secret: OTHER, from: file `+filepath.ToSlash(home)+`/two, to: "https://a.example/**"}]}}`+"\n")
	h := Gates(s)
	defer h.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{self, s.File, s.Text("state") + "/audit/x", s.Text("dir") + "/x.wasm", filepath.Join(home, "keys", "one"), filepath.Join(home, "two")}
	for _, folder := range settings.DefaultFolders() {
		paths = append(paths, folder, filepath.Join(folder, "approved", "x"))
	}
	if len(settings.DefaultFolders()) < 2 {
		t.Errorf("got folders %q, want 2 or more", settings.DefaultFolders())
	}
	for _, path := range paths {
		if reaches(t, h, path) {
			t.Errorf("%s: got it in reach, want it protected", path)
		}
	}
	for _, path := range []string{filepath.Join(home, "keys", "other"), filepath.Join(home, ".config", "other")} {
		if !reaches(t, h, path) {
			t.Errorf("%s: got it protected, want it in reach", path)
		}
	}
}

// The file of a secret is denied as soon as a grant of any plugin names it.
func TestProtected_coversASecretOnceNamed(t *testing.T) {
	dir := t.TempDir()
	h := hostfuncs.NewHost(&hostfuncs.Options{Home: dir, State: filepath.Join(dir, "state")})
	defer h.Close()
	file := filepath.Join(dir, "token")
	if !reaches(t, h, file) {
		t.Errorf("an unnamed file: got it protected, want it in reach")
	}
	line, err := grant.ParseLine("secret: KEY {from: file ~/token, to: https://a.example/**}")
	if err != nil {
		t.Fatal(err)
	}
	h.Plugin(hostfuncs.Plugin{Name: "other", Grants: grant.NewSet(line)}).Close()
	if reaches(t, h, file) {
		t.Errorf("the file of another plugin's secret: got it in reach, want it protected")
	}
	if h.Protect(nil); reaches(t, h, file) || reaches(t, h, filepath.Join(dir, "state", "x")) {
		t.Errorf("with no protected paths: got it in reach, want it protected")
	}
}

// Files stay protected while they are in use: until the next start for settings that need it, and after refused
// settings.
func TestConfigure_keepsFilesInUseProtected(t *testing.T) {
	s := configured(t, "plugins: {a: {source: ./a.wasm}}\n")
	h := open(t, s)
	other := t.TempDir()
	change := func(text string) *settings.Settings {
		t.Helper()
		if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		next, err := s.Reload()
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := change("state: " + other + "\ndir: " + other + "/plugins\nstate_keys: " + other + "/keys\nplugins: {b: {source: " + other + "/b.wasm}}\n")
	if err := h.configure(s, next); err != nil {
		t.Fatal(err)
	}
	third := change("state: " + other + "/third\n")
	if err := h.configure(next, third); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		s.Text("state") + "/sallyport.log", s.Text("state") + "/tokens", s.Text("dir") + "/x.wasm", s.LockFile(), filepath.Join(filepath.Dir(s.File), "a.wasm"),
		other + "/keys", other + "/b.wasm", other + "/third/x",
	} {
		if reaches(t, h.Gates, path) {
			t.Errorf("%s: got it in reach, want it protected", path)
		}
	}
}
