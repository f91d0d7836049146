package grant_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestSet_Includes_narrowerLines(t *testing.T) {
	for _, tt := range []struct {
		set, line string
		want      bool
	}{
		{"fs: write ~/work/**", "fs: write ~/work/a", true},
		{"fs: write ~/work/**", "fs: read ~/work", true},
		{"fs: read ~/work/**", "fs: write ~/work/a", false},
		{"fs: write ~/work/**", "fs: write ~/other", false},
		{"fs: write ~/work/**", "fs: write ~/work/**", true},
		{"fs: write ~/work/**", "fs: write ~/work/*", false}, // undecidable
		{"fs: write ~/**", "fs: write ~/.ssh/id", false},     // must be literal
		{"fs: write ~/work/** {quota: 1MiB}", "fs: write ~/work/a", false},
		{"fs: write ~/work/** {ask: true}", "fs: write ~/work/a", false},
		{"fs: write /data/**", "fs: write ~/data/a", false},
		{"fs: write ~/work/a{*}b", "fs: write ~/work/a{*}b", true},
		{"fs: write ~/work/a*b", "fs: write ~/work/a{*}b", true},
		{"net: GET https://a.example/**", "net: GET https://a.example/x", true},
		{"net: GET https://a.example/**", "net: GET https://a.example/x?q=1", true},
		{"net: GET https://a.example/x", "net: GET https://a.example/x?q=1", true},
		{"net: GET https://a.example/x?q=1", "net: GET https://a.example/x", false}, // with any query
		{"net: GET https://a.example/x?q", "net: GET https://a.example/x", false},
		{"net: GET https://a.example/**", "net: POST https://a.example/x", false},
		{"net: GET https://a.example/**", "net: GET https://b.example/x", false},
		{"net: GET https://**", "net: GET https://a.example/x", true},
		{"net: GET http://**", "net: GET http://127.0.0.1/x", false},
		{"net: GET http://**", "net: GET http://localhost/x", false},
		{"net: POST https://a.example/** {body: 1KiB}", "net: POST https://a.example/x", false},
		{"fs: write ~/work/** {for: [export]}", "fs: write ~/work/a", false}, // a different tool may need that
		{"fs: write ~/work/** {mode: direct}", "fs: write ~/work/a", false},  // not committed atomically
		{"fs: write ~/work/** {mode: direct}", "fs: read ~/work/a", true},
		{"net: GET https://a.example/** {for: [get]}", "net: GET https://a.example/x", false},
		{"net: GET https://a.example/x?a=1&b=", "net: GET https://a.example/x?a=1&b", false}, // with any value
		{"kv: 16MiB", "kv: 1MiB", false},
		{"kv: 1MiB", "kv: 1MiB", true},
	} {
		line, err := grant.ParseLine(tt.line)
		if err != nil {
			t.Fatal(tt.line, err)
		}
		set, err := grant.ParseLine(tt.set)
		if err != nil {
			t.Fatal(tt.set, err)
		}
		if got := grant.NewSet(set).Includes(line); got != tt.want {
			t.Errorf("%s includes %s: %v", tt.set, tt.line, got)
		}
	}
}
