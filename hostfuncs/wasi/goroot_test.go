//go:build goroot

package wasi_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// inapplicable lists the tests that cannot pass here, each with its reason.
var inapplicable = map[string][]struct{ test, reason string }{
	"os": {
		{"TestRootMulti", "a guest makes no link that goes up after it went down, such as a/../b"},
		{"TestOpenFileDevNull$", "there is no /dev/null: devices are never opened"},
		{"TestDevNullFile$", "there is no /dev/null"},
	},
}

// TestGoroot_passesGoTests runs Go's own tests of its file packages and clocks on this WASI.
func TestGoroot_passesGoTests(t *testing.T) {
	root := goroot(t)
	for _, pkg := range []string{"os", "io/fs", "path/filepath", "time"} {
		t.Run(pkg, func(t *testing.T) {
			guest := goBuild(t, "test", "-c", pkg)
			files := jail.New([]jail.Mount{{Host: root}, {Host: t.TempDir(), Guest: "/tmp"}}, everything{})
			defer files.Close()
			args := []string{pkg + ".test", "-test.short", "-test.v"}
			var skip []string
			for _, x := range inapplicable[pkg] {
				t.Logf("left out: %s: %s", x.test, x.reason)
				skip = append(skip, "^"+x.test)
			}
			if skip != nil {
				args = append(args, "-test.skip="+strings.Join(skip, "|"))
			}
			var out bytes.Buffer
			err := run(t, guest, runtime.Limits{Memory: 1 << 30, Deadline: 10 * time.Minute}, wasi.Options{
				Args: args, Tree: files, Stdout: &out, Stderr: &out,
				Env: []string{"PWD=" + jail.GuestPath(filepath.Join(root, "src", pkg)), "TMPDIR=/tmp", "HOME=/tmp", "GOROOT=" + jail.GuestPath(root)},
			})
			passed := strings.Count(out.String(), "\n--- PASS")
			t.Logf("%d tests passed, %d skipped themselves", passed, strings.Count(out.String(), "\n--- SKIP"))
			if exitCode(err) != 0 || passed < 3 {
				t.Errorf("got %v, %d passed, want exit code 0 and 3 or more passed\n%s", err, passed, &out)
			}
		})
	}
}
