// Dist builds a release of Sallyport for every system, reproducibly: two runs of one commit write equal bytes.
//
//	go run ./cmd/dist -o build/dist
//
// For each system it writes an archive with the program, the licence, the README, manual pages and completions of shells.
// The same programs are packed for package managers: for npm and PyPI, as Debian packages, as bundles for desktop clients
// (MCPB), as a container image (an OCI layout), and with a formula for Homebrew. SHA256SUMS and a software bill of materials
// (CycloneDX), which is read out of a built program, cover them. Nothing is published.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "build/dist", "`folder` for the release, which is replaced")
	only := flag.String("only", "", "comma-separated `targets`, such as linux_amd64; empty is all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run builds a release in a folder.
func run(ctx context.Context, out, only string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	work := filepath.Join(out, "work")
	source := filepath.Join(work, "source")
	if err := clone(ctx, source); err != nil {
		return err
	}
	at, err := commitTime(ctx)
	if err != nil {
		return err
	}
	r, err := buildRelease(ctx, source, work, chosen, at)
	if err != nil {
		return err
	}
	files, err := r.pack()
	if err == nil {
		err = writeAll(out, files)
	}
	return errors.Join(err, os.RemoveAll(work))
}

// release is everything that the packages are made of.
type release struct {
	version  version
	at       time.Time // of every file
	programs []built
	docs     []member // documents, manual pages and completions
	bill     []byte
}

// built are the programs for one target.
type built struct {
	target
	content  []byte // of sallyport
	verifier []byte // of sallyport-sigstore
}

// executables returns both programs in a folder, whose name ends with a slash, or is "".
func (p built) executables(folder string) []member {
	return []member{
		{name: folder + p.program(), mode: 0o755, content: p.content},
		{name: folder + p.verifierProgram(), mode: 0o755, content: p.verifier},
	}
}

// artefact is a file of a release.
type artefact struct {
	name    string
	content []byte
}

// pack returns the files of a release, sorted by name, with their checksums.
func (r *release) pack() (files []artefact, err error) {
	files = []artefact{{"sallyport.cdx.json", r.bill}}
	for _, format := range []func(*release) ([]artefact, error){archives, debs, npmPackages, wheels, bundles, images} {
		made, err := format(r)
		if err != nil {
			return nil, err
		}
		files = append(files, made...)
	}
	for _, listing := range []func(*release, []artefact) ([]artefact, error){formula, registryEntry} {
		made, err := listing(r, files)
		if err != nil {
			return nil, err
		}
		files = append(files, made...)
	}
	slices.SortFunc(files, func(a, b artefact) int { return strings.Compare(a.name, b.name) })
	return append(files, sums(files)), nil
}

// clone copies the commit of the current folder. A release is built there: it has no uncommitted change, and Go writes the
// commit into a program that is built in a clone, but not in a worktree of one.
func clone(ctx context.Context, source string) error {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("a release is built from a clone of the repository: %w", err)
	}
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-checkout", ".", source},
		{"-C", source, "checkout", "--quiet", "--detach", strings.TrimSpace(string(commit))},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// buildRelease builds the program for the targets in the folder of its source, and what it says about itself.
func buildRelease(ctx context.Context, source, work string, chosen []target, at time.Time) (*release, error) {
	r := &release{at: at}
	host := filepath.Join(work, "host", "sallyport")
	if err := build(ctx, source, "./cmd/sallyport", host, target{runtime.GOOS, runtime.GOARCH}); err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, host, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("--version: %w", err)
	}
	if r.version, err = versionFrom(string(text)); err != nil {
		return nil, err
	}
	if r.docs, err = documents(ctx, source, host, filepath.Join(work, "man"), at); err != nil {
		return nil, err
	}
	for _, t := range chosen {
		fmt.Println("building", t)
		folder := filepath.Join(work, t.String())
		p, err := buildPrograms(ctx, source, folder, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		r.programs = append(r.programs, p)
		if r.bill == nil {
			if r.bill, err = billOf(at, filepath.Join(folder, t.program()), filepath.Join(folder, t.verifierProgram())); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// buildPrograms builds both programs for a target into a folder, each from its own module.
func buildPrograms(ctx context.Context, source, folder string, t target) (p built, err error) {
	p.target = t
	program, verifier := filepath.Join(folder, t.program()), filepath.Join(folder, t.verifierProgram())
	if err := build(ctx, source, "./cmd/sallyport", program, t); err != nil {
		return p, err
	}
	if err := build(ctx, filepath.Join(source, "cmd", "sallyport-sigstore"), ".", verifier, t); err != nil {
		return p, err
	}
	if p.content, err = os.ReadFile(program); err != nil {
		return p, err
	}
	p.verifier, err = os.ReadFile(verifier)
	return p, err
}

// commitTime returns the time of the commit, or SOURCE_DATE_EPOCH: the time of every file in the packages.
func commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit: %w; set SOURCE_DATE_EPOCH", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build builds the program of a package for a target, in the module of a folder.
func build(ctx context.Context, source, name, file string, t target) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", file, name)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// documents returns the licence and the README, and the manual pages and completions that the program writes.
func documents(ctx context.Context, source, host, man string, at time.Time) (files []member, err error) {
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, member{name: name, mode: 0o644, content: content})
	}
	for shell, name := range map[string]string{"bash": "sallyport.bash", "zsh": "_sallyport", "fish": "sallyport.fish", "powershell": "sallyport.ps1"} {
		text, err := exec.CommandContext(ctx, host, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion %s: %w", shell, err)
		}
		files = append(files, member{name: "completions/" + name, mode: 0o644, content: text})
	}
	cmd := exec.CommandContext(ctx, host, "man", man)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(at.Unix(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("man: %w: %s", err, out)
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		content, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, member{name: "man/" + p.Name(), mode: 0o644, content: content})
	}
	slices.SortFunc(files, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// sums returns SHA256SUMS of files, as sha256sum reads it.
func sums(files []artefact) artefact {
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(f.content), f.name)
	}
	return artefact{"SHA256SUMS", []byte(text.String())}
}

// writeAll writes the files into a folder.
func writeAll(dir string, files []artefact) error {
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
