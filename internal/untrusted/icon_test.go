package untrusted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

func TestSafeIcon_acceptsOnlySafeSchemes(t *testing.T) {
	for src, want := range map[string]bool{
		"https://example.com/i.png": true, "HTTPS://example.com/i.png": true, "data:image/png;base64,AA==": true, "DATA:IMAGE/svg+xml,x": true,
		"http://example.com/i.png": false, "https:example.com": false, "javascript:alert(1)": false, "file:///etc/passwd": false, "data:text/html,<script>": false,
		"data:image/": false, "i.png": false, "//example.com/i.png": false, "": false, " https://example.com": false,
	} {
		if untrusted.SafeIcon(src) != want {
			t.Errorf("%q: got %v, want %v", src, !want, want)
		}
	}
}

func TestKeepIcons_removesUnsafeIcons(t *testing.T) {
	const good, bad = `{"src":"https://a/i.png", "sizes":["48x48"]}`, `{"src":"file:///x"}`
	for raw, want := range map[string]struct {
		kept    string
		removed int
	}{
		`[` + good + ` , ` + good + `]`: {`[` + good + ` , ` + good + `]`, 0},
		`[` + bad + `,` + good + `]`:    {`[` + good + `]`, 1},
		`[` + bad + `]`:                 {"", 1},
		`[5]`:                           {"", 1},
		`[]`:                            {"[]", 0},
		`{"src":"https://a/i.png"}`:     {"", 1},
		`[` + strings.Repeat(good+`,`, untrusted.MaxIcons) + good + `]`: {"", untrusted.MaxIcons + 1},
	} {
		if kept, removed := untrusted.KeepIcons(json.RawMessage(raw), untrusted.SafeIcon); string(kept) != want.kept || removed != want.removed {
			t.Errorf("%.100s: got %s, %d; want %s, %d", raw, kept, removed, want.kept, want.removed)
		}
	}
}

func TestInlineIcon_holdsForImagesInDataURLs(t *testing.T) {
	for src, want := range map[string]bool{
		"data:image/png;base64,AA==": true, "DATA:image/png,x": true, "data:text/html,x": false, "https://example.com/i.png": false, "": false,
	} {
		if untrusted.InlineIcon(src) != want {
			t.Errorf("%q: got %v, want %v", src, !want, want)
		}
	}
}
