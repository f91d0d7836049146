// Dist builds the release archives of Sallyport for every system, reproducibly: two runs of one commit write equal
// bytes.
//
//	go run ./cmd/dist -o build/dist
//
// For each system it writes an archive with the program, the licence, the README and the completions of shells, and for
// all of them SHA256SUMS and a software bill of materials (CycloneDX), which is read out of the built program.
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

// target is a system that a release is built for.
type target struct{ os, arch string }

// targets returns the systems of a release.
func targets() []target {
	return []target{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	}
}

func (t target) String() string { return t.os + "_" + t.arch }

// program returns the name of the built program.
func (t target) program() string {
	if t.os == "windows" {
		return "sallyport.exe"
	}
	return "sallyport"
}

// archive returns the name of the archive.
func (t target) archive() string {
	if t.os == "windows" {
		return "sallyport_" + t.String() + ".zip"
	}
	return "sallyport_" + t.String() + ".tar.gz"
}

func main() {
	out := flag.String("o", "build/dist", "`folder` for the archives, which is replaced")
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
	at, err := commitTime(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	common, err := commonFiles(ctx, out)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range chosen {
		fmt.Println("building", t)
		name, err := t.release(ctx, out, common, at)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		names = append(names, name)
	}
	sbom := "sallyport.cdx.json"
	bill, err := billOf(filepath.Join(out, "bin", chosen[0].String(), chosen[0].program()), at)
	if err == nil {
		err = os.WriteFile(filepath.Join(out, sbom), bill, 0o644)
	}
	if err == nil {
		err = writeSums(out, append(names, sbom))
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(out, "bin")), os.RemoveAll(filepath.Join(out, "host")))
}

// choose returns the targets of a list; all if it is empty.
func choose(only string) ([]target, error) {
	if only == "" {
		return targets(), nil
	}
	var chosen []target
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(targets(), func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no target %q: want some of %v", name, targets())
		}
		chosen = append(chosen, targets()[i])
	}
	return chosen, nil
}

// commitTime returns the time of the commit, or SOURCE_DATE_EPOCH: the time of every file in the archives.
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

// build builds the program for a target.
func build(ctx context.Context, file string, t target) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -buildid=", "-o", file, "./cmd/sallyport")
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// release builds one target and returns the name of its archive.
func (t target) release(ctx context.Context, out string, common []member, at time.Time) (string, error) {
	program := filepath.Join(out, "bin", t.String(), t.program())
	if err := build(ctx, program, t); err != nil {
		return "", err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	members := append([]member{{t.program(), 0o755, content}}, common...)
	pack := tarball
	if t.os == "windows" {
		pack = zipped
	}
	archive, err := pack(members, at)
	if err != nil {
		return "", err
	}
	return t.archive(), os.WriteFile(filepath.Join(out, t.archive()), archive, 0o644)
}

// commonFiles returns the files of every archive: documents, and completions that the program of this system prints.
func commonFiles(ctx context.Context, out string) (files []member, err error) {
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, member{name, 0o644, content})
	}
	host := filepath.Join(out, "host", "sallyport")
	if err := build(ctx, host, target{runtime.GOOS, runtime.GOARCH}); err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "sallyport.bash", "zsh": "_sallyport", "fish": "sallyport.fish", "powershell": "sallyport.ps1"} {
		text, err := exec.CommandContext(ctx, host, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion %s: %w", shell, err)
		}
		files = append(files, member{"completions/" + name, 0o644, text})
	}
	slices.SortFunc(files, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// writeSums writes SHA256SUMS of files, as sha256sum reads it.
func writeSums(dir string, names []string) error {
	var text strings.Builder
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(text.String()), 0o644)
}
