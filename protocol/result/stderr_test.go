package result

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

func TestLastWords_readsTheEndOfStderr(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"lines", "a\nb\n", "a\nb"},
		{"a stack is left out", "oops\npanic: x\n\ngoroutine 1 [running]:\nmain.main()\n", "oops\npanic: x"},
		{"only a stack", "goroutine 1 [running]:\nmain.main()\n", ""},
		{"the end of a stack", "n.f(0x1)\n\t/src/a.go:12 +0x1d\nmain.main()\n\t/src/a.go:7 +0x10\n", ""},
		{"the end of a stack, in a line", "ib/a.go:3 +0x1\nn.f(0x1)\n\t/src/a.go:12 +0x1d\n", "ib/a.go:3 +0x1"},
		{"steering characters", "\x1b[31mred\x1b[0m\x07\n", "red"},
		{"the last lines", strings.Repeat("x\n", 100) + "end", strings.Repeat("x\n", 7) + "end"},
		{"the last bytes", strings.Repeat("é", maxWords), strings.Repeat("é", maxWords/2)},
	} {
		if got := LastWords(&catalog.Failure{Stderr: c.in}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
