package host

import (
	"runtime/debug"
	"testing"
)

// The version names the commit, for reports of defects.
func TestVersion_namesTheCommit(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "d2fc8503741fabaaab6e49bdaddc1801435edd07"}
	for want, info := range map[string]debug.BuildInfo{
		"0.1.0-dev":                      {Main: debug.Module{Version: "(devel)"}},
		"0.1.0-dev+d2fc8503741f":         {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{revision}},
		"0.1.0-dev+d2fc8503741f.changed": {Main: debug.Module{Version: "v0.0.0-20261122050356-d2fc8503741f+dirty"}, Settings: []debug.BuildSetting{revision}},
		"0.1.0-dev+0123456789ab":         {Main: debug.Module{Version: "v1.2.4-0.20261122050356-0123456789ab"}},
		"1.2.3":                          {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := versionOf(&debug.BuildInfo{}); got != next {
		t.Errorf("got %v, want %v", got, next)
	}
}

func TestEngine_namesTheLibraryOfTheBuild(t *testing.T) {
	info := &debug.BuildInfo{Deps: []*debug.Module{{Path: "example.com/a", Version: "v9"}, {Path: "github.com/tetratelabs/wazero", Version: "v1.12.0"}}}
	if got := engineOf(info); got != "wazero v1.12.0" {
		t.Errorf("got %s, want wazero v1.12.0", got)
	}
	if got := engineOf(&debug.BuildInfo{}); got != "wazero" {
		t.Errorf("without modules: got %s, want wazero", got)
	}
}
