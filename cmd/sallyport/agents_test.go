//go:build clients

package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// agents are programs that people use. All that they do without an account is to list their servers, for
// which they connect to each.
var agents = []struct {
	name, client string // the command, and what client-config calls it
	trust        string // where the agent keeps which folders it trusts, and uses servers in
	connected    string // what it says of a server that answered
}{
	{"claude", "claude-code", "", "✔ Connected"},
	{"gemini", "gemini", ".gemini/trustedFolders.json", "- Connected"},
}

// TestClients_Agents lets agents that people use list the program, which client-config wrote into their files.
func TestClients_Agents(t *testing.T) {
	for _, agent := range agents {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(agent.name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				command := filepath.Join(filepath.Dir(npm(t, ".bin", "node")), agent.name)
				dir, home := allBundled(t), t.TempDir()
				s := reach(t, transport, dir)
				config := program(t, bareConformance, clientConfigArgs(t, agent.client, dir, s)...)
				config.Env = append(config.Env, "HOME="+home)
				if out, err := config.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				work := trusted(t, home, agent.trust)
				if out := serversOf(t, command, work, home, s); !strings.Contains(out, agent.connected) || !strings.Contains(out, "sallyport: ") {
					t.Errorf("%s", out)
				}
			})
		}
	}
}

func clientConfigArgs(t *testing.T, client, dir string, s server) []string {
	t.Helper()
	args := []string{"client-config", client, dir, "--write"}
	if s.URL == "" {
		return args
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return append(args, "--http", u.Host)
}

// trusted is a folder for an agent to work in.
func trusted(t *testing.T, home, file string) string {
	t.Helper()
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if file == "" {
		return work
	}
	if err := os.WriteFile(filepath.Join(home, file), []byte(`{"`+filepath.ToSlash(work)+`":"TRUST_FOLDER"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return work
}

// serversOf is what the agent says of its servers.
func serversOf(t *testing.T, command, work, home string, s server) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, "mcp", "list")
	cmd.Dir, cmd.WaitDelay = work, time.Second
	cmd.Env = os.Environ()
	for key, value := range s.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "PATH="+filepath.Dir(command)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s mcp list: %v", filepath.Base(command), err)
	}
	return string(out)
}
