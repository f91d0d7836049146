package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script/*.txtar. $PLUGINS holds the plugins built by make, $GUESTS the guests
// of the tests, not packed.
func TestScripts(t *testing.T) {
	plugins := filepath.Dir(bundled(t, "time"))
	guests := filepath.Dir(unpacked(t, "misbehave"))
	unpacked(t, "trapping")
	extismGuest(t, "vowels")
	extismGuest(t, "notes")
	state := filepath.Join(sharedState(t), "state")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PLUGINS", plugins)
			e.Setenv("GUESTS", guests)
			e.Setenv("SALLYPORT_STATE", state)
			e.Setenv(lockVariable, filepath.Join(e.WorkDir, ".config", "sallyport.lock"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			return nil
		},
	})
}
