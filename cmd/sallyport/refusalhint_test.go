//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A program and a whole server have no way to know why an effect failed. The failure says it, with the line to type.
func TestProgram_failureNamesTheLineToType(t *testing.T) {
	const network = "a program has no network but HTTP, which sallyport build --go builds into a Go program"
	if page, err := os.ReadFile("../../docs/programs.md"); err != nil || !bytes.Contains(page, []byte(network)) {
		t.Errorf("docs/programs.md: got %v and other words, want %q in it", err, network)
	}
	servers := badServer(t, "dials")
	described(t, servers, `server: {env: {TOKEN: "{secret.KEY}"}}`)
	programs := folder(t, wasiProgram(t, "command"))
	put(t, filepath.Join(programs, "command.tool.yaml"), []byte(`tools:
  - {name: dial, args: [dial]}
  - {name: fail, args: [fail], env: {TOKEN: "{secret.KEY}"}}
  - {name: read, args: [read, /etc/hostname]}
  - {name: write, args: [write, /etc/new, text]}
`))
	const key = "its variable TOKEN is the secret KEY, which no grant allows: sallyport grant "
	t.Setenv("KEY", "the value of the key")
	for _, c := range []struct {
		dir, grants string
		want        map[string]string // in the text of a call, by tool
	}{
		{servers, "", map[string]string{
			"server-dial": network, "server-dialerror": network, "server-dialexit": network,
			"server-keyless": key + "server 'secret: KEY {to: https://HOST/**}'",
		}},
		{servers, "'secret: KEY {to: https://a.example/**}'", map[string]string{"server-keyless": "has a token"}},
		{servers, "'config: {TOKEN: plain}'", map[string]string{"server-keyless": "has a token"}},
		{programs, "", map[string]string{
			"command-dial": network, "command-fail": key + "command 'secret: KEY {to: https://HOST/**}'",
			"command-read": "to allow it: sallyport grant command 'fs: read /etc/hostname'", "command-write": "to allow it: sallyport grant command 'fs: write /etc/new'",
		}},
		{programs, "'secret: KEY {to: https://a.example/**}'", map[string]string{"command-fail": "cannot open the thing"}},
	} {
		s := connect(t, "plugins: {server: {grants: ["+c.grants+"]}, command: {grants: ["+c.grants+"]}}", c.dir)
		for tool, want := range c.want {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			said := fmt.Sprint(err)
			if err == nil {
				said = text(r)
			}
			if !strings.Contains(said, want) || c.grants != "" && strings.Contains(said, "which no grant allows") {
				t.Errorf("%s with [%s]: got %q, want %q in it", tool, c.grants, said, want)
			}
		}
	}
}
