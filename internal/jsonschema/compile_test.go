package jsonschema

import (
	"testing"
)

func TestCompile_endsWhenItsStepsAreUsedUp(t *testing.T) {
	c := newCompiler(&Options{}, 1)
	if err := c.AddResource(baseURL, map[string]any{"items": map[string]any{"items": map[string]any{}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile(baseURL); err == nil || err.Error() != "takes too many steps to compile" {
		t.Errorf("got %v, want an error", err)
	}
}
