package host

import (
	"regexp"
	"runtime/debug"
)

// next is the version under development.
const next = "0.1.0-dev"

// revision matches the commit at the end of a Go pseudo-version.
var revision = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(\+dirty)?$`)

// Version returns the release, or the next version with the commit of this build: 0.1.0-dev+d2fc8503741f.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return next
	}
	return versionOf(info)
}

// Engine returns the name and version of the library that runs WebAssembly in this build.
func Engine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "wazero"
	}
	return engineOf(info)
}

func engineOf(info *debug.BuildInfo) string {
	for _, d := range info.Deps {
		if d.Path == "github.com/tetratelabs/wazero" {
			return "wazero " + d.Version
		}
	}
	return "wazero"
}

func versionOf(info *debug.BuildInfo) string {
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ".changed"
		}
	}
	made := revision.FindStringSubmatch(info.Main.Version)
	switch {
	case made != nil:
		commit = made[1]
		if made[2] != "" {
			changed = ".changed"
		}
	case len(info.Main.Version) > 1 && info.Main.Version[0] == 'v':
		return info.Main.Version[1:]
	}
	if commit == "" {
		return next
	}
	return next + "+" + commit + changed
}
