//go:build dist

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// Two runs of a release are equal bytes, also in a worktree with a changed file. Each way of installing it is followed in an empty place with an empty home, up to
// a first answered call, and the table says how long that took.
func TestDist_isReproducibleAndEachPackageMakesAFirstCall(t *testing.T) {
	t.Chdir("../..")
	module, err := filepath.Abs(filepath.Join("build", "plugins", "time.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	this := target{runtime.GOOS, runtime.GOARCH}
	first, second := t.TempDir(), t.TempDir()
	if err := run(context.Background(), first, this.String()); err != nil {
		t.Fatal(err)
	}
	t.Chdir(worktree(t))
	if err := os.WriteFile("README.md", []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), second, this.String()); err != nil {
		t.Fatal(err)
	}
	compareFolders(t, first, second)
	for _, way := range []struct {
		name    string
		install func(*testing.T, place) string
	}{
		{"archive", fromArchive}, {"npm", fromNPM}, {"pip", fromPyPI}, {"deb", fromDebian}, {"mcpb", fromBundle}, {"image", fromImage},
	} {
		t.Run(way.name, func(t *testing.T) {
			p := place{release: first, home: t.TempDir()}
			begin := time.Now()
			program := way.install(t, p)
			args := []string{"call", module, "now", `{"zone":"Asia/Tokyo"}`}
			if way.name == "image" {
				program, args = "chroot", append([]string{"--userspec=65532:65532", program, "/usr/bin/sallyport", "call", "/plugins/time.wasm"}, args[2:]...)
				copyFile(t, module, filepath.Join(p.home, "root", "plugins", "time.wasm"))
			}
			if got := p.command(t, program, args...); !strings.Contains(got, "+09:00") {
				t.Errorf("the first call: got %s, want the time in Tokyo", got)
			}
			switch way.name {
			case "mcpb": // a client starts its program to serve, and no person does to add a plugin
			case "image": // a changed root has no /proc, which add needs
				if got, err := p.run(program, args[0], args[1], "/usr/bin/sallyport-sigstore"); err == nil || !strings.Contains(got, "the request is not JSON") {
					t.Errorf("sallyport-sigstore: got %v, %s, want an empty request refused", err, got)
				}
			default:
				p.verifies(t, module, program)
			}
			t.Logf("%s: installed and called in %.1f s", way.name, time.Since(begin).Seconds())
		})
	}
}

// worktree returns another checkout of the same commit.
func worktree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "worktree")
	if out, err := exec.Command("git", "worktree", "add", "--detach", dir, "HEAD").CombinedOutput(); err != nil {
		t.Fatalf("git worktree: %v: %s", err, out)
	}
	repository, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("git", "-C", repository, "worktree", "remove", "--force", dir).CombinedOutput(); err != nil {
			t.Errorf("git worktree remove: %v: %s", err, out)
		}
	})
	return dir
}

func compareFolders(t *testing.T, first, second string) {
	t.Helper()
	files, err := os.ReadDir(first)
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d files, %v, want each format", len(files), err)
	}
	for _, f := range files {
		a, errA := os.ReadFile(filepath.Join(first, f.Name()))
		b, errB := os.ReadFile(filepath.Join(second, f.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes, %v, %v, want equal ones", f.Name(), len(a), len(b), errA, errB)
		}
	}
}

// place is where a release is installed.
type place struct{ release, home string }

// command runs a program with an empty environment and returns its output.
func (p place) command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := p.run(name, args...)
	if err != nil {
		t.Fatalf("%s %q: got %v: %s", name, args, err, out)
	}
	return out
}

// run runs a program with an empty environment and returns its output.
func (p place) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	if strings.HasPrefix(filepath.Base(name), "chroot") {
		cmd.Env[0] = "HOME=/home/nonroot"
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// verifies has the program verify a signature, for which it starts the one beside it: that one finds the fault of the
// trusted root.
func (p place) verifies(t *testing.T, module, program string) {
	t.Helper()
	folder := filepath.Join(p.home, "signed")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, module, filepath.Join(folder, "time.wasm"))
	for name, text := range map[string]string{
		"time.wasm.sigstore.json": "{}", "root.json": "{}",
		"sallyport.yaml": "trusted_root: " + folder + "/root.json\nsources: {'**': {require: {issuer: 'https://a.example', identity: ann@acme.example}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.run(program, "add", folder+"/time.wasm", "--config", folder+"/sallyport.yaml")
	if err == nil || !strings.Contains(out, "the trusted root cannot be read") {
		t.Errorf("add: got %v, %s, want the trusted root refused", err, out)
	}
}

// file returns the only file of the release that matches a pattern.
func (p place) file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.release, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: got %q, %v, want one file", pattern, found, err)
	}
	return found[0]
}

func fromArchive(t *testing.T, p place) string {
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = p.release
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("got %v: %s, want right checksums", err, out)
	}
	p.command(t, "tar", "-xzf", p.file(t, "*.tar.gz"))
	for _, name := range []string{"man/sallyport-serve.1", "completions/_sallyport", "LICENSE"} {
		if _, err := os.Stat(filepath.Join(p.home, name)); err != nil {
			t.Errorf("got %v, want it in the archive", err)
		}
	}
	return filepath.Join(p.home, "sallyport")
}

func fromNPM(t *testing.T, p place) string {
	system, processor := target{runtime.GOOS, runtime.GOARCH}.npm()
	p.command(t, "npm", "install", "--offline", "--no-audit", "--no-fund", p.file(t, "npm-sallyport-"+system+"-"+processor+"-*.tgz"), p.file(t, "npm-sallyport-[0-9]*.tgz"))
	program := filepath.Join(p.home, "node_modules", ".bin", "sallyport")
	wrong := exec.Command(program, "no-such-command")
	if err := wrong.Run(); wrong.ProcessState.ExitCode() != 2 {
		t.Errorf("a wrong command: got %v, want the exit code 2 of the program", err)
	}
	return program
}

func fromPyPI(t *testing.T, p place) string {
	p.command(t, "python3", "-m", "venv", "venv")
	p.command(t, "venv/bin/pip", "install", "--no-index", "--disable-pip-version-check", p.file(t, "*.whl"))
	p.command(t, "venv/bin/pip", "check", "--disable-pip-version-check")
	return filepath.Join(p.home, "venv", "bin", "sallyport")
}

func fromDebian(t *testing.T, p place) string {
	root := filepath.Join(p.home, "root")
	for _, dir := range []string{"updates", "info"} {
		if err := os.MkdirAll(filepath.Join(root, "var", "lib", "dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var", "lib", "dpkg", "status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.command(t, "dpkg", "--root="+root, "--force-not-root", "--install", p.file(t, "*.deb"))
	if got := p.command(t, "dpkg", "--root="+root, "--verify", "sallyport"); got != "" {
		t.Errorf("dpkg --verify: got %s, want every file as in the package", got)
	}
	p.command(t, "gzip", "--test", filepath.Join(root, "usr/share/man/man1/sallyport.1.gz"))
	return filepath.Join(root, "usr", "bin", "sallyport")
}

func fromBundle(t *testing.T, p place) string {
	p.command(t, "python3", "-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall()", p.file(t, "*.mcpb"))
	var manifest bundleManifest
	raw, err := os.ReadFile(filepath.Join(p.home, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.command(t, "npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", "manifest.json")
	program := strings.ReplaceAll(manifest.Server.Launch.Command, "${__dirname}", p.home)
	if err := os.Chmod(program, 0o755); err != nil { // extractall keeps no modes, unlike the clients
		t.Fatal(err)
	}
	return program
}

// fromImage has skopeo verify the image, unpacks it, and returns the folder to change the root to.
func fromImage(t *testing.T, p place) string {
	p.command(t, "skopeo", "--insecure-policy", "copy", "--all", "--quiet", "oci-archive:"+p.file(t, "sallyport_image.tar"), "oci:image")
	image := fmt.Sprintf("oci:%s", filepath.Join(p.home, "image"))
	var config v1.Image
	if err := json.Unmarshal([]byte(p.command(t, "skopeo", "inspect", "--config", image)), &config); err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != runtime.GOARCH {
		t.Errorf("got the user %s on %s, want a user without privileges on %s", config.Config.User, config.Architecture, runtime.GOARCH)
	}
	p.command(t, "skopeo", "--insecure-policy", "copy", "--quiet", image, "dir:layers")
	root := filepath.Join(p.home, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.home, 0o755); err != nil {
		t.Fatal(err)
	}
	var manifest v1.Manifest
	raw, err := os.ReadFile(filepath.Join(p.home, "layers", "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &manifest)
	}
	if err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("got %s, %v, want a manifest with one layer", raw, err)
	}
	p.command(t, "tar", "--directory", root, "-xzf", filepath.Join(p.home, "layers", manifest.Layers[0].Digest.Encoded()))
	return root
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
