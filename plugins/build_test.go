// Package plugins_test builds the plugins included with Sallyport.
package plugins_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

// maxSizes are limits in bytes, slightly above the current sizes, to detect expensive dependencies.
var maxSizes = map[string]int{
	"conformance": 4_000_000,
	"fetch":       6_800_000,
	"files":       4_800_000,
	"git":         8_400_000,
	"time":        4_400_000,
}

func TestBuild_boundsTheSizeOfEachPlugin(t *testing.T) {
	for name, most := range maxSizes {
		t.Run(name, func(t *testing.T) {
			size := len(sallyporttest.Build(t, name))
			t.Logf("%s is %d bytes", name, size)
			if size > most {
				t.Errorf("%s is %d bytes, over %d", name, size, most)
			}
		})
	}
}
