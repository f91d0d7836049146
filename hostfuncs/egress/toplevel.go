package egress

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// reserved are top-level labels that private networks or special resolvers use.
var reserved = []string{"alt", "arpa", "corp", "example", "home", "i2p", "internal", "invalid", "lan", "local", "localhost", "onion", "test"}

// TopLevel reports whether label is a top-level domain, so that a text that ends in it may be a host name.
func TopLevel(label string) bool {
	label, err := idna.ToASCII(strings.ToLower(label))
	if err != nil || label == "" {
		return false
	}
	_, listed := publicsuffix.PublicSuffix("x." + label)
	return listed || slices.Contains(reserved, label)
}
