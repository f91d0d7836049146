//go:build dist

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// maxCommands is the number of commands that a person types at most, up to the first answered call.
const maxCommands = 2

// eachWay follows each way of installing a release in an empty place with an empty home, up to a first answered call. The
// table has the commands that a person types and the time that they take on this machine, of which nothing is required.
func eachWay(t *testing.T, release, cache string) {
	module, err := filepath.Abs(filepath.Join("build", "plugins", "time.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, way := range []struct {
		name   string
		follow func(*testing.T, *place)
	}{
		{"archive", fromArchive}, {"npm", fromNPM}, {"uv", fromUV}, {"pip", fromPip}, {"deb", fromDebian}, {"homebrew", fromHomebrew},
		{"mcpb", fromBundle}, {"container", fromImage}, {"go install", fromSource},
	} {
		t.Run(way.name, func(t *testing.T) {
			p := &place{release: release, home: t.TempDir(), module: module, cache: cache}
			way.follow(t, p)
			if !strings.Contains(p.answer, "+09:00") {
				t.Errorf("the first call: got %s, want the time in Tokyo", p.answer)
			}
			if len(p.typed) > maxCommands {
				t.Errorf("got the commands %q, want %d at most", p.typed, maxCommands)
			}
			fmt.Fprintf(&table, "%-10s  %5.1f s  %5.1f s of CPU  %s%s\n", way.name, p.wall.Seconds(), p.cpu.Seconds(), strings.Join(p.typed, "; "), p.note)
		})
	}
	t.Logf("to the first answered call:\n%s", table.String())
}

// place is where a release is installed.
type place struct {
	release, home, module string
	cache                 string   // build cache that has the dependencies of the program
	typed                 []string // commands of a person
	wall, cpu             time.Duration
	note                  string // beside the time
	answer                string // to the first call
}

// types runs a command of a person, for which a program stands in that stays in the place, and returns its output.
func (p *place) types(t *testing.T, command, name string, args ...string) string {
	t.Helper()
	p.typed = append(p.typed, command)
	return p.command(t, name, args...)
}

// calls makes the first call with the program of a path.
func (p *place) calls(t *testing.T, program string) {
	t.Helper()
	p.answer = p.types(t, `sallyport call time.wasm now '{"zone":"Asia/Tokyo"}'`, program, "call", p.module, "now", `{"zone":"Asia/Tokyo"}`)
}

// command runs a program with an empty environment and returns its output. Its time counts.
func (p *place) command(t *testing.T, name string, args ...string) string {
	t.Helper()
	begin := time.Now()
	out, state, err := p.run(name, args...)
	if err != nil {
		t.Fatalf("%s %q: got %v: %s", name, args, err, out)
	}
	p.wall += time.Since(begin)
	p.cpu += state.UserTime() + state.SystemTime()
	return out
}

// run runs a program with an empty environment and returns its output.
func (p *place) run(name string, args ...string) (string, *os.ProcessState, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	if filepath.Base(name) == "chroot" {
		cmd.Env[0] = "HOME=/home/nonroot"
	}
	out, err := cmd.CombinedOutput()
	return string(out), cmd.ProcessState, err
}

// verifies has the program verify a signature, for which it starts the one beside it: that one finds the fault of the
// trusted root.
func (p *place) verifies(t *testing.T, program string) {
	t.Helper()
	folder := filepath.Join(p.home, "signed")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, p.module, filepath.Join(folder, "time.wasm"))
	for name, text := range map[string]string{
		"time.wasm.sigstore.json": "{}", "root.json": "{}",
		"sallyport.yaml": "trusted_root: " + folder + "/root.json\nsources: {'**': {require: {issuer: 'https://a.example', identity: ann@acme.example}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := p.run(program, "add", folder+"/time.wasm", "--config", folder+"/sallyport.yaml")
	if err == nil || !strings.Contains(out, "the trusted root cannot be read") {
		t.Errorf("add: got %v, %s, want the trusted root refused", err, out)
	}
}

// file returns the only file of the release that matches a pattern.
func (p *place) file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.release, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: got %q, %v, want one file", pattern, found, err)
	}
	return found[0]
}

// version returns the version of the release, as the registry of MCP servers has it.
func (p *place) version(t *testing.T) string {
	t.Helper()
	var entry registryServer
	raw, err := os.ReadFile(filepath.Join(p.release, "server.json"))
	if err == nil {
		err = json.Unmarshal(raw, &entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entry.Version
}

// has checks that files were installed.
func (p *place) has(t *testing.T, files ...string) {
	t.Helper()
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(p.home, name)); err != nil {
			t.Errorf("got %v, want it installed", err)
		}
	}
}

func fromArchive(t *testing.T, p *place) {
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = p.release
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("got %v: %s, want right checksums", err, out)
	}
	file := p.file(t, "*.tar.gz")
	p.types(t, "tar -xzf "+filepath.Base(file), "tar", "-xzf", file)
	p.calls(t, filepath.Join(p.home, "sallyport"))
	p.has(t, "man/sallyport-serve.1", "completions/_sallyport", "LICENSE")
	p.verifies(t, filepath.Join(p.home, "sallyport"))
}

func fromNPM(t *testing.T, p *place) {
	system, processor := target{runtime.GOOS, runtime.GOARCH}.npm()
	p.types(t, "npm install FILE FILE", "npm", "install", "--offline", "--no-audit", "--no-fund", p.file(t, "npm-sallyport-"+system+"-"+processor+"-*.tgz"), p.file(t, "npm-sallyport-[0-9]*.tgz"))
	program := filepath.Join(p.home, "node_modules", ".bin", "sallyport")
	p.calls(t, program)
	if out, state, err := p.run(program, "no-such-command"); state.ExitCode() != 2 {
		t.Errorf("a wrong command: got %v, %s, want the exit code 2 of the program", err, out)
	}
	p.verifies(t, program)
}

func fromUV(t *testing.T, p *place) {
	uv, err := filepath.Abs(filepath.Join("build", "uv", "bin", "uv"))
	if err != nil {
		t.Fatal(err)
	}
	p.types(t, "uv tool install FILE", uv, "tool", "install", "--offline", p.file(t, "*.whl"))
	program := filepath.Join(p.home, ".local", "bin", "sallyport")
	p.calls(t, program)
	p.verifies(t, program)
}

func fromPip(t *testing.T, p *place) {
	p.run("python3", "-m", "venv", "venv") // the environment that a person has
	pip := filepath.Join(p.home, "venv", "bin", "pip")
	p.types(t, "pip install FILE", pip, "install", "--no-index", "--disable-pip-version-check", p.file(t, "*.whl"))
	program := filepath.Join(p.home, "venv", "bin", "sallyport")
	p.calls(t, program)
	if out, _, err := p.run(pip, "check", "--disable-pip-version-check"); err != nil {
		t.Errorf("pip check: got %v, %s, want no fault", err, out)
	}
	p.verifies(t, program)
}

func fromDebian(t *testing.T, p *place) {
	root := filepath.Join(p.home, "root")
	for _, dir := range []string{"updates", "info"} {
		if err := os.MkdirAll(filepath.Join(root, "var", "lib", "dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var", "lib", "dpkg", "status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.types(t, "apt install ./FILE", "dpkg", "--root="+root, "--force-not-root", "--install", p.file(t, "*.deb"))
	program := filepath.Join(root, "usr", "bin", "sallyport")
	p.calls(t, program)
	if out, _, err := p.run("dpkg", "--root="+root, "--verify", "sallyport"); err != nil || out != "" {
		t.Errorf("dpkg --verify: got %s, %v, want every file as in the package", out, err)
	}
	if out, _, err := p.run("gzip", "--test", filepath.Join(root, "usr/share/man/man1/sallyport.1.gz")); err != nil {
		t.Errorf("the manual: got %s, %v, want it compressed", out, err)
	}
	p.has(t, "root/usr/lib/systemd/user/sallyport.service", "root/usr/share/bash-completion/completions/sallyport")
	p.verifies(t, program)
}

// fromHomebrew installs by a small Homebrew, since the real one runs on no machine without its own downloads.
func fromHomebrew(t *testing.T, p *place) {
	script, err := filepath.Abs(filepath.Join("cmd", "dist", "testdata", "brew.rb"))
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(p.home, "brew")
	p.types(t, "brew install sallyport", "ruby", script, p.file(t, "sallyport.rb"), p.release, prefix)
	program := filepath.Join(prefix, "bin", "sallyport")
	p.calls(t, program)
	p.has(t, "brew/share/man/man1/sallyport.1", "brew/etc/bash_completion.d/sallyport", "brew/share/zsh/site-functions/_sallyport", "brew/share/fish/vendor_completions.d/sallyport.fish")
	p.verifies(t, program)
}

// fromBundle does as a desktop client: it unpacks the bundle, starts its program with the chosen folder, and calls a tool.
func fromBundle(t *testing.T, p *place) {
	p.types(t, "a double click on FILE, and the folder", "python3", "-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall()", p.file(t, "*.mcpb"))
	var manifest bundleManifest
	raw, err := os.ReadFile(filepath.Join(p.home, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := p.run("npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", "manifest.json"); err != nil {
		t.Errorf("mcpb validate: got %v, %s, want a valid manifest", err, out)
	}
	plugins := filepath.Join(p.home, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, p.module, filepath.Join(plugins, "time.wasm"))
	said := strings.NewReplacer("${__dirname}", p.home, "${user_config.plugins}", plugins)
	program := said.Replace(manifest.Server.Launch.Command)
	if err := os.Chmod(program, 0o755); err != nil { // extractall keeps no modes, unlike the clients
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	for _, a := range manifest.Server.Launch.Args {
		cmd.Args = append(cmd.Args, said.Replace(a))
	}
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home}
	begin := time.Now()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "time-now", Arguments: map[string]any{"zone": "Asia/Tokyo"}})
	p.wall += time.Since(begin)
	if err := errors.Join(err, session.Close()); err != nil {
		t.Fatal(err)
	}
	p.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.answer = fmt.Sprint(answer.StructuredContent)
}

// fromImage has skopeo verify the image, and unpacks it and changes the root to it in place of a container engine.
func fromImage(t *testing.T, p *place) {
	if err := os.Chmod(p.home, 0o755); err != nil {
		t.Fatal(err)
	}
	p.types(t, "podman load -i FILE", "skopeo", "--insecure-policy", "copy", "--all", "--quiet", "oci-archive:"+p.file(t, "sallyport_image.tar"), "oci:image")
	if out, _, err := p.run("skopeo", "inspect", "--raw", "oci-archive:"+p.file(t, "sallyport_image.tar")+":sallyport:"+p.version(t)); err != nil {
		t.Errorf("the name of the image: got %v, %s, want sallyport and the version", err, out)
	}
	image := "oci:" + filepath.Join(p.home, "image")
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
	var manifest v1.Manifest
	raw, err := os.ReadFile(filepath.Join(p.home, "layers", "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &manifest)
	}
	if err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("got %s, %v, want a manifest with one layer", raw, err)
	}
	p.command(t, "tar", "--directory", root, "-xzf", filepath.Join(p.home, "layers", manifest.Layers[0].Digest.Encoded()))
	copyFile(t, p.module, filepath.Join(root, "plugins", "time.wasm"))
	const user = "--userspec=65532:65532"
	p.answer = p.types(t, `podman run -i -v ~/plugins:/plugins sallyport:VERSION call /plugins/time.wasm now '{"zone":"Asia/Tokyo"}'`,
		"chroot", user, root, "/usr/bin/sallyport", "call", "/plugins/time.wasm", "now", `{"zone":"Asia/Tokyo"}`)
	// A changed root has no /proc, which add needs.
	if out, _, err := p.run("chroot", user, root, "/usr/bin/sallyport-sigstore"); err == nil || !strings.Contains(out, "the request is not JSON") {
		t.Errorf("sallyport-sigstore: got %v, %s, want an empty request refused", err, out)
	}
}

// fromSource compiles the packages of the program as on a machine without a C compiler, with the dependencies that the
// reproducible build compiled: its flag -trimpath changes the paths in debug information alone. The modules are in the module
// cache of this machine, and that of the program is served as the module proxy does.
func fromSource(t *testing.T, p *place) {
	const name = "github.com/sallyport-mcp/sallyport"
	version := moduleProxy(t, filepath.Join(p.home, "proxy"), name)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	proxies := fmt.Sprintf("file://%s/proxy,file://%s/cache/download", p.home, strings.TrimSpace(string(cache)))
	p.types(t, "go install "+name+"/cmd/sallyport@latest", "env", "GOPROXY="+proxies, "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath", "GOTOOLCHAIN=local",
		"GOCACHE="+p.cache, "CGO_ENABLED=0",
		"go", "install", name+"/cmd/sallyport@latest")
	p.note = " (it compiles the program, whose dependencies were compiled before)"
	program := filepath.Join(p.home, "go", "bin", "sallyport")
	p.calls(t, program)
	if out, _, err := p.run(program, "--version"); err != nil || !strings.Contains(out, version[strings.LastIndexByte(version, '-')+1:]) {
		t.Errorf("--version: got %s, %v, want the commit of %s", out, err, version)
	}
}

// moduleProxy writes the module of the current commit into a folder, in the layout of the module proxy, and returns its
// version.
func moduleProxy(t *testing.T, dir, name string) (version string) {
	t.Helper()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	at, err := commitTime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version = "v0.0.0-" + at.Format("20060102150405") + "-" + git("rev-parse", "HEAD")[:12]
	folder := filepath.Join(dir, name, "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"archive", "--format=zip", "--prefix=" + name + "@" + version + "/", "-o", filepath.Join(folder, version+".zip"), "HEAD", "."}
	for _, file := range strings.Fields(git("ls-files", "*/go.mod")) { // a module within is not a part
		args = append(args, ":(exclude)"+filepath.Dir(file))
	}
	git(args...)
	for file, text := range map[string]string{
		version + ".mod": git("show", "HEAD:go.mod"), version + ".info": fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, at.Format(time.RFC3339)), "list": "",
		"../@latest": fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, at.Format(time.RFC3339)),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return version
}
