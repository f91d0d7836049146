// Package gobuild builds Go programs for WASI with a network: in their standard library net/http is over http/fetch.
//
//	b, err := gobuild.Build(ctx, "example.com/cmd/tool@v1.2.3", os.Stderr)
//
// The source of the program is unchanged: the go command replaces one file of net/http by its flag -overlay.
package gobuild

import (
	"bytes"
	"context"
	_ "embed" // the overlay
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// roundTrip is a file of package net/http, in place of its roundtrip.go. It uses what that package does not export, so it
// is tied to the versions of Go that it was tested with.
//
//go:embed roundtrip.go.txt
var roundTrip []byte

// Versions returns the versions of Go that the overlay was tested with, without the number of the patch.
func Versions() []string { return []string{"go1.25", "go1.26"} }

// Built is a program that was built.
type Built struct {
	Name   string // of the program, as go install names it
	Wasm   []byte
	Source plugin.Source
}

// Build builds a main package: PACKAGE@VERSION, or the package in a folder. Messages of the go command go to progress.
func Build(ctx context.Context, target string, progress io.Writer) (_ *Built, err error) {
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("there is no go command in the PATH: install %s from go.dev", strings.Join(Versions(), " or "))
	}
	temp, err := os.MkdirTemp("", "sallyport-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	b := &build{
		command: command, temp: temp, dir: target, pkg: ".", progress: progress,
		env: append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"),
	}
	if info, err := os.Stat(target); err != nil || !info.IsDir() {
		if err := b.get(ctx, target); err != nil {
			return nil, err
		}
	}
	return b.run(ctx)
}

// build is one run of Build.
type build struct {
	command  string   // go
	temp     string   // a folder for the time of the build
	dir, pkg string   // the folder of the commands, and the package there
	env      []string // of the commands
	progress io.Writer
}

// get requires a package of a version in a module of its own.
func (b *build) get(ctx context.Context, target string) error {
	pkg, version, ok := strings.Cut(target, "@")
	if !ok || pkg == "" || version == "" || strings.HasPrefix(pkg, "-") {
		err := fmt.Errorf("%s: no folder, and no package with a version such as example.com/cmd/tool@v1.2.3", target)
		if host, _, _ := strings.Cut(pkg, "/"); !ok && strings.Contains(strings.TrimLeft(host, "."), ".") {
			return ui.Hint(err, "sallyport build --go %s", shellword.Quoted(pkg+"@latest"))
		}
		return err
	}
	b.dir, b.pkg = filepath.Join(b.temp, "module"), pkg
	b.env = append(b.env, "GOWORK=off", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"))
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	if _, err := b.goCommand(ctx, "mod", "init", "sallyport.build"); err != nil {
		return err
	}
	_, err := b.goCommand(ctx, "get", target)
	return err
}

// run builds the package.
func (b *build) run(ctx context.Context) (*Built, error) {
	s, err := b.source(ctx)
	if err != nil {
		return nil, err
	}
	overlay, err := b.overlay(ctx, &s)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(b.temp, "program.wasm")
	fmt.Fprintf(b.progress, "compiling %s for WASI\n", ui.Line(s.Package))
	if _, err := b.goCommand(ctx, "build", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", out, b.pkg); err != nil {
		return nil, ui.Hint(fmt.Errorf("%s does not compile for WASI: %w", s.Package, err),
			"the lines above name the packages: one that was written for some systems only has no part for WASI (GOOS=wasip1)")
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	section, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.SourceSection, section)
	return &Built{Name: nameOf(s.Package), Wasm: wasm, Source: s}, err
}

// source finds out what is built.
func (b *build) source(ctx context.Context) (s plugin.Source, err error) {
	text, err := b.goCommand(ctx, "list", "-json=Name,ImportPath,Module", b.pkg)
	if err != nil {
		return s, b.withPrograms(ctx, err)
	}
	var listed struct {
		Name, ImportPath string
		Module           *struct{ Path, Version, Sum string }
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return s, fmt.Errorf("the answer of go list cannot be read: %w", err)
	}
	if listed.Name != "main" {
		return s, b.withPrograms(ctx, fmt.Errorf("%s is package %s and no program: name a package main", listed.ImportPath, listed.Name))
	}
	s.Package = listed.ImportPath
	if m := listed.Module; m != nil {
		s.Module, s.Version = m.Path, m.Version
		s.Sum, err = b.sum(ctx, m.Path)
	}
	return s, err
}

// maxPrograms limits the programs that a hint names.
const maxPrograms = 8

// withPrograms returns an error with a hint that names the programs beneath the package, if there are any.
func (b *build) withPrograms(ctx context.Context, err error) error {
	text, failed := b.goCommand(ctx, "list", "-find", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, b.pkg+"/...")
	programs := strings.Fields(string(text))
	if failed != nil || len(programs) == 0 {
		return err
	}
	more := ""
	if over := len(programs) - maxPrograms; over > 0 {
		programs, more = programs[:maxPrograms], fmt.Sprintf(", and %d more", over)
	}
	return ui.Hint(err, "its programs are %s%s", strings.Join(programs, ", "), more)
}

// sum returns the checksum of a module, as go.sum has it, "" for a module in a folder.
func (b *build) sum(ctx context.Context, module string) (string, error) {
	text, err := b.goCommand(ctx, "list", "-m", "-json", module)
	if err != nil {
		return "", err
	}
	var m struct{ Sum string }
	err = json.Unmarshal(text, &m)
	return m.Sum, err
}

// overlay checks the version of Go in use for the package, and returns the file for -overlay.
func (b *build) overlay(ctx context.Context, s *plugin.Source) (string, error) {
	text, err := b.goCommand(ctx, "env", "-json", "GOVERSION", "GOROOT", "GOMODCACHE")
	if err != nil {
		return "", err
	}
	var env struct{ GOVERSION, GOROOT, GOMODCACHE string }
	if err := json.Unmarshal(text, &env); err != nil {
		return "", fmt.Errorf("the answer of go env cannot be read: %w", err)
	}
	if s.Go = env.GOVERSION; !isTested(s.Go) {
		return "", fmt.Errorf("the program would be built with %s, and its network was tested with %s: GOTOOLCHAIN=%s.0 selects a version",
			s.Go, strings.Join(Versions(), " and "), Versions()[len(Versions())-1])
	}
	if strings.HasPrefix(env.GOROOT, env.GOMODCACHE+string(filepath.Separator)) {
		if env.GOROOT, err = b.linkToolchain(env.GOROOT); err != nil {
			return "", err
		}
	}
	replaced := filepath.Join(env.GOROOT, "src", "net", "http", "roundtrip.go")
	if _, err := os.Stat(replaced); err != nil {
		return "", fmt.Errorf("the standard library of %s is incomplete: %w", s.Go, err)
	}
	own, overlay := filepath.Join(b.temp, "roundtrip.go"), filepath.Join(b.temp, "overlay.json")
	if err := os.WriteFile(own, roundTrip, 0o600); err != nil {
		return "", err
	}
	signals := filepath.Join(env.GOROOT, "src", "os", "signal", "signal_unix.go")
	quiet, err := b.withoutSignals(signals)
	if err != nil {
		return "", err
	}
	text, err = json.Marshal(map[string]any{"Replace": map[string]string{replaced: own, signals: quiet}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// withoutSignals returns a copy of a file of os/signal whose wait for signals, of which WASI has none, is a wait that
// other goroutines do not notice. The one of the standard library yields for ever, and Go's scheduler polls no input
// while a goroutine can run.
func (b *build) withoutSignals(file string) (string, error) {
	before, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the standard library is incomplete: %w", err)
	}
	after := bytes.Replace(before, []byte("\nfunc loop() {\n"), []byte("\nfunc loop() {\n\tselect {}\n"), 1)
	if bytes.Equal(after, before) {
		return "", fmt.Errorf("the standard library waits for signals in an unknown way: %s has no func loop", file)
	}
	quiet := filepath.Join(b.temp, "signal_unix.go")
	return quiet, os.WriteFile(quiet, after, 0o600)
}

// linkToolchain gives a downloaded toolchain another path: the go command replaces no file beneath the module cache.
func (b *build) linkToolchain(goroot string) (string, error) {
	link := filepath.Join(b.temp, "goroot")
	b.env = append(b.env, "GOROOT="+link, "GOTOOLCHAIN=local")
	b.command = filepath.Join(link, "bin", "go")
	return link, os.Symlink(goroot, link)
}

// isTested reports whether a version such as go1.26.8 is one of Versions.
func isTested(version string) bool {
	minor := regexp.MustCompile(`^go\d+\.\d+`).FindString(version)
	return slices.Contains(Versions(), minor)
}

// goCommand runs the go command and returns its output. Its messages go to progress.
func (b *build) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, b.command, args...)
	var out bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = b.dir, b.env, &out, b.progress
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// nameOf returns the name of the program in a package: the last element of its path that is no major version.
func nameOf(pkg string) string {
	name := path.Base(pkg)
	if regexp.MustCompile(`^v\d+$`).MatchString(name) && path.Dir(pkg) != "." {
		name = path.Base(path.Dir(pkg))
	}
	return name
}
