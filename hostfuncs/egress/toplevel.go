package egress

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// reserved are the labels at the end of names that a private network or a program of its own resolves.
var reserved = []string{"alt", "arpa", "corp", "example", "home", "i2p", "internal", "invalid", "lan", "local", "localhost", "onion", "test"}

// TopLevel reports whether names of hosts end with a label: a program that looks for them in a text takes it for one.
func TopLevel(label string) bool {
	label, err := idna.ToASCII(strings.ToLower(label))
	if err != nil || label == "" {
		return false
	}
	_, listed := publicsuffix.PublicSuffix("x." + label)
	return listed || slices.Contains(reserved, label)
}
