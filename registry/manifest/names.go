package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxPublicName is the length limit of a public name: clients reject longer ones.
	MaxPublicName = 64
	// maxPluginName leaves room in a public name for the local name.
	maxPluginName = 40
	// HostName is the plugin name reserved for the host, and the scheme of its URIs.
	HostName = "sallyport"
)

// CheckName reports why name is not a valid plugin name. It must be letters and digits, in groups joined by single
// underscores, so that the first '-' of a public name ends it.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a plugin's name cannot be empty")
	case strings.EqualFold(name, HostName):
		return fmt.Errorf("plugin name %q is the host's own", name)
	case len(name) > maxPluginName:
		return fmt.Errorf("plugin name %q is over %d characters", name, maxPluginName)
	case name != joinedName(name):
		return fmt.Errorf("plugin name %q: use letters, digits and single underscores between them", name)
	}
	return nil
}

// NameOfFile returns the plugin name of a file: accents are removed, and all other invalid characters become underscores.
// If letters are lost, or the name is too long, it ends in a part of its hash: 漢字.wasm and 漢語.wasm are two plugins.
func NameOfFile(path string) (string, error) {
	base := filepath.Base(path)
	stem := norm.NFC.String(strings.TrimSuffix(base, filepath.Ext(base)))
	plain := withoutAccents(stem)
	name := joinedName(plain)
	lost := strings.ContainsFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) })
	switch {
	case name == "" && lost:
		name = "plugin" + suffix(stem)
	case name == "":
		return "", fmt.Errorf("file %q has no letter or digit to make a plugin name of", base)
	case lost || len(name) > maxPluginName:
		name = strings.TrimRight(name[:min(len(name), maxPluginName-suffixLen)], "_") + suffix(stem)
	}
	return name, CheckName(name)
}

// withoutAccents replaces accented and otherwise decorated letters by the plain ones.
func withoutAccents(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// joinedName replaces each run of characters other than ASCII letters and digits with one underscore, and trims
// underscores at the ends.
func joinedName(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return !isAlphanumeric(r) })
	return strings.Join(parts, "_")
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// suffixLen is the length of a suffix.
const suffixLen = 7

// suffix returns an underscore and six hex digits of the hash of s.
func suffix(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "_" + hex.EncodeToString(sum[:3])
}

// PublicName returns the public name of a plugin's tool or prompt: plugin-local, or only the local name without the prefix.
// Characters that MCP does not allow become underscores; a name that is too long is cut and ends in a part of its hash.
func PublicName(plugin, local string, prefix bool) string {
	name := strings.Map(publicRune, local)
	whole := local
	if prefix {
		name = plugin + "-" + strings.Map(prefixedRune, local)
		whole = plugin + "-" + local
	}
	if len(name) > MaxPublicName {
		name = name[:MaxPublicName-suffixLen] + suffix(whole)
	}
	return name
}

// prefixedRune keeps the characters that every client accepts.
func prefixedRune(r rune) rune {
	if isAlphanumeric(r) || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// publicRune keeps the characters that MCP allows in a tool's name.
func publicRune(r rune) rune {
	if r == '.' || r == '/' {
		return r
	}
	return prefixedRune(r)
}
