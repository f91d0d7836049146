package source

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Name returns the plugin name of an artifact. A name with letters of other scripts, which can look like those of another
// plugin, is an error: the operator chooses one.
func (a *Artifact) Name() (string, error) {
	for _, c := range a.Stem {
		if c >= 0x80 && !unicode.Is(unicode.Mn, c) {
			return "", fmt.Errorf("its name %.100q has the character %U, which can look like another one", a.Stem, c)
		}
	}
	return manifest.NameOfFile(path.Base(a.Stem) + extModule)
}

// Alike returns the first name that a reader can take for name; "" if there is none. Equal names are not alike.
func Alike(name string, others []string) string {
	for _, other := range others {
		if other != name && skeleton(other) == skeleton(name) {
			return other
		}
	}
	return ""
}

// skeleton maps names that look alike to one text: first each character, then pairs, since c1 looks like cl, and that
// like d.
func skeleton(name string) string {
	single := strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "8", "b", "2", "z", "_", "").Replace(strings.ToLower(name))
	return strings.NewReplacer("rn", "m", "vv", "w", "cl", "d").Replace(single)
}
