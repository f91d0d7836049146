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

// agents are clients under test. Without an account they can list their servers, and connect to each for that.
var agents = []struct {
	name, client string // the command, and its name in client-config
	trust        string // the file of trusted folders, "" if servers are used in any folder
	connected    string // its output for a connected server
}{
	{"claude", "claude-code", "", "✔ Connected"},
	{"gemini", "gemini", ".gemini/trustedFolders.json", "- Connected"},
}

// TestClients_agentsListTheServer runs each agent's list of servers, with the program in its configuration by
// client-config.
func TestClients_agentsListTheServer(t *testing.T) {
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
					t.Errorf("got %s, want %q in it, %q in it", out, agent.connected, "sallyport: ")
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

// trusted creates a working folder that the agent trusts.
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

// serversOf returns the agent's list of servers.
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
