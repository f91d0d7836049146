package schema

import (
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/schema/census"
)

func TestCompile_EndsWhenItsTimeIsOver(t *testing.T) {
	c := newCompiler(&Options{}, time.Now().Add(-time.Second))
	if err := c.AddResource(census.BaseURL, map[string]any{"type": "object"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile(census.BaseURL); err == nil || err.Error() != "takes too long to compile" {
		t.Errorf("got %v", err)
	}
}
