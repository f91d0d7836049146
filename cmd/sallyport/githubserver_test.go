//go:build programs

package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// githubFile is the tool file of GitHub's MCP server, which does not start without a token.
const githubFile = `
server:
  args: [stdio]
  env: {GITHUB_PERSONAL_ACCESS_TOKEN: "{secret.GITHUB_TOKEN}"}
`

// githubServer builds GitHub's official MCP server, whose source is unchanged: for WASI in a plugin folder, and natively.
func githubServer(t *testing.T) (dir, native string) {
	t.Helper()
	module := t.TempDir()
	dir, native = t.TempDir(), filepath.Join(module, "native")
	err := errors.Join(
		os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.com/empty\n\ngo 1.24\n\nrequire github.com/github/github-mcp-server v1.0.0\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "github.tool.yaml"), []byte(githubFile), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	const pkg = "github.com/github/github-mcp-server/cmd/github-mcp-server"
	buildProgram(t, module, pkg, native, "GOFLAGS=-mod=mod")
	build := program(t, "", "build", "--go", pkg+"@v1.0.0", "-o", filepath.Join(dir, "github.wasm"))
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} { // the program has a home of its own
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Env = append(build.Env, name+"="+strings.TrimSpace(string(value)))
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build --go: got %v %s, want success", err, out)
	}
	return dir, native
}

// toolsOf returns the tools of a session as JSON by name, without a prefix and the host's own keys.
func toolsOf(t *testing.T, s *mcp.ClientSession, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(tool.Name, prefix)
		if !ours {
			continue // of the host
		}
		tool.Name = name
		maps.DeleteFunc(tool.Meta, func(key string, _ any) bool { return strings.HasPrefix(key, "dev.sallyport/") })
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(raw)
	}
	return all
}

func TestPrograms_githubServerListsWhatItListsNatively(t *testing.T) {
	dir, native := githubServer(t)
	cmd := exec.Command(native, "stdio")
	cmd.Env = append(os.Environ(), "GITHUB_PERSONAL_ACCESS_TOKEN=none")
	want := toolsOf(t, speaking(t, "2025-11-25", commandTransport(cmd)), "")
	if len(want) < 40 {
		t.Fatalf("got %d tools natively, want at least 40", len(want))
	}
	for _, version := range eras() {
		got := toolsOf(t, speaking(t, version, commandTransport(program(t, "", "serve", dir))), "github-")
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("%s %s: got %.600s, natively %.600s", version, name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %d tools, natively %d", version, len(got), len(want))
		}
	}
}
