//go:build dist

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Two runs of a release are equal bytes, and the unpacked program makes a first call in an empty home.
func TestDist_isReproducibleAndMakesAFirstCall(t *testing.T) {
	t.Chdir("../..")
	this := target{runtime.GOOS, runtime.GOARCH}
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := run(context.Background(), dir, this.String()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{this.archive(), "sallyport.cdx.json", "SHA256SUMS"} {
		a, errA := os.ReadFile(filepath.Join(first, name))
		b, errB := os.ReadFile(filepath.Join(second, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes, %v, %v, want equal ones", name, len(a), len(b), errA, errB)
		}
	}
	home := t.TempDir()
	command := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: got %v: %s", name, args, err, out)
		}
		return string(out)
	}
	command("sha256sum", "--check", "--ignore-missing", filepath.Join(copied(t, first, home), "SHA256SUMS"))
	command("tar", "-xzf", this.archive())
	module, err := filepath.Abs(filepath.Join("build", "plugins", "time.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(home, "sallyport")
	if got := command(program, "call", module, "now", `{"zone":"Asia/Tokyo"}`); !strings.Contains(got, "+09:00") {
		t.Errorf("the first call: got %s, want the time in Tokyo", got)
	}
	if got := command(program, "--version"); !strings.Contains(got, this.os+"/"+this.arch) {
		t.Errorf("--version: got %s, want its system", got)
	}
}

// copied copies the files of a release into a folder, and returns the folder.
func copied(t *testing.T, from, to string) string {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
