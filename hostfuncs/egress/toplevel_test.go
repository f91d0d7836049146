package egress_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
)

func TestTopLevel_knowsRegisteredDomains(t *testing.T) {
	for label, want := range map[string]bool{
		"com": true, "COM": true, "io": true, "zip": true, "ck": true, "example": true, "onion": true, "рф": true, "xn--p1ai": true, "公司": true,
		"": false, "go": false, "js": false, "html": false, "3": false, "g": false, "foo bar": false, "txt": false, "xn--": false, "заметка": false,
	} {
		if egress.TopLevel(label) != want {
			t.Errorf("%q: %v", label, !want)
		}
	}
}
