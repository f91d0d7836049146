package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// TestPublishes_hidesEverySpelling: a hidden resource cannot be read through a template in any spelling of its URI.
func TestPublishes_hidesEverySpelling(t *testing.T) {
	p := plugin(t, "a", `{"resources":[{"uri":"x://host/notes/secret key","name":"s"},{"uri":"x://host/notes/secret","name":"s"},{"uri":"x://host/notes/open","name":"o"}],"resourceTemplates":[{"uriTemplate":"x://host/{+path}","name":"t"}]}`)
	p.Hide = []string{"x://host/notes/secret"}
	o := Publish(p)
	reads := func(uri string) bool {
		return o.Publishes(identity.Identity{}, Request{Kind: manifest.Template, Entry: "x://host/{+path}", URI: uri})
	}
	for _, uri := range []string{
		"x://host/notes/secret", "X://HOST/notes/secret", "x://host/notes/%73ecret", "x://host/notes/%2573ecret", "x://host/notes//secret", "x://host/notes/./secret", "x://host/a/../notes/secret",
		"x://host/notes/secret/", "x://host/notes/secret#x", "x://host/notes%2Fsecret", "x://host/notes\\secret", "x://host/notes/secret?", "x://host/notes/secret;v=1", "x://host./notes/secret",
		"x://u@host/notes/secret", "x://host:/notes/secret", "x://host/notes/secret%00", "x://host/notes/secret%20", "x://host/%2e%2e/notes/secret",
	} {
		if reads(uri) || o.Serves(uri) {
			t.Errorf("%s: got its contents, want it hidden", uri)
		}
	}
	for _, uri := range []string{"x://host/notes/open", "x://host/notes/Secret", "x://host/notes/secrets", "x://host/secret", "x://host/notes/secret/x", "x://host/notes/secret?x", "x://other/notes/secret"} {
		if !reads(uri) {
			t.Errorf("%s: got it hidden, want its contents", uri)
		}
	}
	random := rand.New(rand.NewPCG(9, 1))
	tried := 0
	for range 20_000 {
		uri := respelt(random, "notes/secret")
		tried++
		if reads("x://host/" + uri) {
			t.Fatalf("x://host/%s: got its contents, want it hidden", uri)
		}
	}
	t.Logf("%d spellings", tried)
}

// respelt escapes characters of a path, also repeatedly, and adds redundant segments.
func respelt(random *rand.Rand, path string) string {
	for range 1 + random.IntN(3) {
		var b strings.Builder
		for i := range len(path) {
			switch c := path[i]; {
			case random.IntN(6) == 0:
				fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[random.IntN(2)], c)
			case c == '/' && random.IntN(3) == 0:
				b.WriteString([]string{"//", "/./", "/x/../"}[random.IntN(3)])
			default:
				b.WriteByte(c)
			}
		}
		path = b.String()
	}
	return path
}
