package main

import (
	"math"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/bench/internal/scale"
)

// The capacity model counts the writes of each kind of call as the real store does, and their bytes within an eighth:
// the pages of the file are filled by chance.
func TestScale_countsTheWritesOfTheStore(t *testing.T) {
	t.Chdir("../..")
	in, err := scale.Read()
	if err == nil {
		err = buildGuest(t.Context(), "asks")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range scaleKinds {
		writes, size, err := storedBy(t.Context(), kind, scaleStored)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if want := in["scale_"+kind+"_writes"]; writes != want {
			t.Errorf("%s: got %v writes a call, want the model's %v: run make scale", kind, writes, want)
		}
		if want := in["scale_"+kind+"_row"]; math.Abs(size-want) > max(want/8, 16) {
			t.Errorf("%s: got %.0f bytes a call in the store, want the model's %.0f: run make scale", kind, size, want)
		}
	}
}
