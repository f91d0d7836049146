package protocol

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry"
)

func TestLastWords(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"lines", "a\nb\n", "a\nb"},
		{"a stack is left out", "oops\npanic: x\n\ngoroutine 1 [running]:\nmain.main()\n", "oops\npanic: x"},
		{"only a stack", "goroutine 1 [running]:\nmain.main()\n", ""},
		{"steering characters", "\x1b[31mred\x1b[0m\x07\n", "[31mred[0m"},
		{"the last lines", strings.Repeat("x\n", 100) + "end", strings.Repeat("x\n", 7) + "end"},
		{"the last bytes", strings.Repeat("é", maxWords), strings.Repeat("é", maxWords/2)},
	} {
		if got := lastWords(&registry.Failure{Stderr: c.in}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
