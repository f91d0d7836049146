//go:build unix

package settings

import (
	"os/exec"
	"testing"
)

// A path is one word for a shell, with any characters in it.
func TestTypedPath_isOneLiteralWord(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/state": "/srv/state", "/home/me/state": "~/state", "/home/me/a b": "~/'a b'", "/home/meadow": "/home/meadow", "/home/me": "/home/me",
		"/x/it's": `'/x/it'\''s'`, "/x/$(id)`id`;|&*?[": "'/x/$(id)`id`;|&*?['", "/x/~": "'/x/~'", "/é": "'/é'", "/x\ny": "'/x\ny'",
		`/x\`: `'/x'\\''`, `/x\'; id; '`: `'/x'\\''\''; id; '\'''`,
	} {
		got := typedPath(path, "/home/me")
		if got != want {
			t.Errorf("%q is typed %s, want %s", path, got, want)
		}
		said := exec.Command("sh", "-c", "printf %s "+got)
		said.Env = []string{"HOME=/home/me"}
		if out, err := said.Output(); err != nil || string(out) != path {
			t.Errorf("%s is %q for a shell, %v", got, out, err)
		}
	}
}
