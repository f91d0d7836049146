package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// verifierProgram returns the name of the built program that verifies signatures of sigstore, which sallyport starts beside
// itself.
func (t target) verifierProgram() string {
	return strings.Replace(t.program(), "sallyport", "sallyport-sigstore", 1)
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

// version is a release such as 0.1.0, or the next one under development: 0.1.0-dev.
type version struct{ number, stage string }

// printed matches what --version prints, such as "sallyport version 0.1.0-dev+d2fc8503741f (go1.26.8, …)".
var printed = regexp.MustCompile(`^sallyport version v?(\d+\.\d+\.\d+)(?:-([a-z]+))?[+. ]`)

func versionFrom(text string) (version, error) {
	m := printed.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("--version printed no version: %q", text)
	}
	return version{m[1], m[2]}, nil
}

// semantic returns the version as npm writes it: 0.1.0-dev.
func (v version) semantic() string { return v.joined("-", "") }

// python returns the version as PEP 440 writes it: 0.1.0.dev0.
func (v version) python() string { return v.joined(".", "0") }

// debian returns the version as Debian orders it: 0.1.0~dev is before 0.1.0.
func (v version) debian() string { return v.joined("~", "") }

func (v version) joined(before, after string) string {
	if v.stage == "" {
		return v.number
	}
	return v.number + before + v.stage + after
}
