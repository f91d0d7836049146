package sigstoretest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// Program builds sallyport-sigstore into a folder, and returns its path. A test binary builds it once.
func Program(dir string) (path string, err error) {
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	program := sigstore.Beside(filepath.Join(dir, "x"))
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = filepath.Join(filepath.Dir(string(gomod)), "cmd", sigstore.Program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release has it, so that both share compiled packages
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}
