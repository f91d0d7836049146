package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/transport/auth"
)

// The printed advice about tokens is a working command.
func TestGreet_adviceIsAWorkingCommand(t *testing.T) {
	state := t.TempDir()
	t.Setenv("HOME", state)
	t.Setenv("XDG_CONFIG_HOME", state)
	const local, socket = "https://127.0.0.1:8470/mcp", "unix:/run/sallyport.sock"
	for _, test := range []struct{ addr, proxy, url, want string }{
		{"127.0.0.1:0", "false", local, "a token is asked for: sallyport client-config CLIENT --http https://127.0.0.1:8470/mcp --state " + state + " prints it"},
		{socket, "false", socket + "/mcp", "no token is asked for: programs of this user can call"},
		{socket, "true", socket + "/mcp", "a token is asked for: sallyport token NAME --state " + state + " makes one"},
		{"0.0.0.0:8470", "false", "https://0.0.0.0:8470/mcp", "a token is asked for: sallyport token NAME --state " + state + " makes one"},
	} {
		var out bytes.Buffer
		c := newServe(stdio{err: &out})
		root := &cobra.Command{}
		root.PersistentFlags().String("config", "", "")
		root.PersistentFlags().String("state", "", "")
		root.PersistentFlags().String("log-level", "", "")
		root.AddCommand(c)
		if err := c.ParseFlags([]string{"--http", test.addr, "--behind-proxy=" + test.proxy, "--state", state}); err != nil {
			t.Fatal(err)
		}
		s, err := loadSettings(c, filepath.Join(state, "plugins"))
		if err != nil {
			t.Fatal(err)
		}
		greet(stdio{err: &out}, s, test.url, &auth.Tokens{})
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: got %s, want %q in it", test.addr, out.String(), test.want)
		}
	}
}
