//go:build clients

package main

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChallenge27_portability runs one plugin file on two processor architectures, one of them emulated: the same bytes
// give the same result.
func TestChallenge27_portability(t *testing.T) {
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Fatalf("%v; run make challenges, which installs it", err)
	}
	other := filepath.Join(t.TempDir(), "sallyport-arm64")
	build := exec.Command("go", "build", "-o", other, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := folder(t, bundled(t, "time"))
	file, err := os.ReadFile(filepath.Join(dir, "time.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("time.wasm is %x", sha256.Sum256(file))

	args := map[string]any{"time": "2026-01-02T03:04:05Z", "to": []string{"Asia/Tokyo"}}
	here := text(call(t, connect(t, "", dir), "time-convert", args))
	options := []string{dir, "--config", os.DevNull, "--state", t.TempDir(), "--log-level", "error"}
	emulated := func(command string) *exec.Cmd {
		return exec.Command(emulator, append([]string{other, command}, options...)...)
	}
	if out, err := emulated("compile").CombinedOutput(); err != nil { // the first list would not wait for it long enough
		t.Fatalf("%v: %s", err, out)
	}
	there := text(call(t, session(t, commandTransport(emulated("serve")), nil), "time-convert", args))
	if here != there || !strings.Contains(here, "2026-01-02T12:04:05+09:00") {
		t.Errorf("amd64: %s\narm64: %s", here, there)
	}
}
