package gobuild

import "testing"

func TestIsTested_ignoresThePatch(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.26.8": true, "go1.26": true, "go1.26rc1": true, "go1.25.4 X:nodwarf5": true,
		"go1.27.0": false, "go1.2": false, "go1.260": false, "devel go1.26-abc": false, "": false,
	} {
		if got := isTested(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

func TestNameOf_isThatOfGoInstall(t *testing.T) {
	for pkg, want := range map[string]string{
		"github.com/mikefarah/yq/v4": "yq", "example.com/cmd/tool": "tool", "tool": "tool", "v2": "v2", "example.com/v2x": "v2x",
	} {
		if got := nameOf(pkg); got != want {
			t.Errorf("%s: got %s, want %s", pkg, got, want)
		}
	}
}
