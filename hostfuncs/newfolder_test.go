package hostfuncs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
)

// TestNewFolders_areWholeOrDenied checks that creating folders, or a file below new ones, either succeeds or is denied,
// whether or not the operator is asked, and that failed operations are not recorded as effects.
func TestNewFolders_areWholeOrDenied(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line, path string
		denied     string // the only denial of a plugin that declared writing; empty is none
	}{
		"a folder below a granted one that is not there": {"fs: write ~/nope/sub/**", "/nope/sub/d/", ""},
		"a file below a granted one that is not there":   {"fs: write ~/nope/sub/**", "/nope/sub/a.txt", ""},
		"a wildcard on the way":                          {"fs: write ~/nope/*/x/**", "/nope/k/x/y/", "write ~/nope/k"},
		"a file beyond a wildcard":                       {"fs: write ~/nope/*/x/**", "/nope/k/x/y.txt", "write ~/nope/k"},
		"beside what is granted":                         {"fs: write ~/nope/sub/**", "/nope/other/d/", "write ~/nope/other/d"},
		"a file beside what is granted":                  {"fs: write ~/nope/sub/**", "/nope/other/a.txt", "write ~/nope/other/a.txt"},
	} {
		for _, who := range []string{"asked", "off", "no wants"} {
			t.Run(name+"/"+who, func(t *testing.T) {
				t.Parallel()
				newFolder(t, tt.line, tt.path, tt.denied, who)
			})
		}
	}
}

func newFolder(t *testing.T, line, path, denied string, who string) {
	t.Helper()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home, State: t.TempDir()}, []string{"fs: write ~/elsewhere/**"}, line)
	switch who {
	case "off":
		f.host = hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: t.TempDir()})
		t.Cleanup(f.host.Close)
	case "no wants":
		f.plugin.Wants = nil
	}
	var g *hostfuncs.Gate
	var err error
	if dir, folder := strings.CutSuffix(path, "/"); folder {
		g = f.call()
		if e := makeAll(g.Files(), home+dir); e != 0 {
			err = e
		}
		if end := g.Conclude(nil); end != nil {
			err = end
		}
		if err == nil {
			err = g.Land(t.Context())
		}
	} else {
		g, err = f.save(home + path)
	}
	_, there := os.Stat(filepath.Clean(home + path))
	refusals := g.Denials()
	if who == "no wants" { // each of its lookups is denied separately
		refusals = slices.DeleteFunc(refusals, func(d receipt.Denial) bool { return strings.HasPrefix(d.Effect, "read ") })
	}
	if done := err == nil; done != (there == nil) || done != (denied == "") || done != (len(refusals) == 0) {
		t.Errorf("got error %v, on disk %v, denials %+v, want success: %t", err, there, refusals, denied == "")
	}
	if who != "no wants" && denied != "" && (len(refusals) != 1 || refusals[0].Effect != denied) {
		t.Errorf("got denials %+v, want one of %s", refusals, denied)
	}
	if there != nil && has(g.Receipt().Effects, "write ~"+strings.TrimSuffix(path, "/")) {
		t.Errorf("a folder that was not made: got effects %+v, want none of it", g.Receipt().Effects)
	}
	if denied == "" && !has(g.Receipt().Effects, "write ~"+strings.TrimSuffix(path, "/")) {
		t.Errorf("a folder that was made: got effects %+v, want write ~%s", g.Receipt().Effects, strings.TrimSuffix(path, "/"))
	}
}

func has(effects []receipt.Effect, target string) bool {
	for _, e := range effects {
		if e.Target == target {
			return true
		}
	}
	return false
}
