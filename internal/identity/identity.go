// Package identity holds the identity of a caller, as a transport has authenticated it.
//
//	id, err := identity.New("token:ann", []string{"ops"}, []string{"write"})
//	who, err := identity.ParseWho([]string{"group:ops"})
//	who.Has(id)
//
// Names are compared byte for byte. A name has one spelling: New and ParseWho refuse names that another spelling equals
// under Unicode normalization, and names with invisible characters. Names that differ in case are different.
package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Anonymous is the principal of all callers without a name together: nothing is kept for it beyond a call or a session.
const Anonymous = "anonymous"

// Named reports whether a principal is one caller, for whom something can be kept. Anonymous is none, and neither is "":
// no caller, as when a plugin starts.
func Named(principal string) bool { return principal != "" && principal != Anonymous }

const (
	maxPrincipal = 1024 // bytes
	maxName      = 256  // bytes of a group or scope
	maxNames     = 512  // groups or scopes of one caller
)

const (
	groupPrefix = "group:"
	scopePrefix = "scope:"
)

// Identity is an authenticated caller.
type Identity struct {
	// Principal identifies the caller, such as token:ci or stdio:1000, or is Anonymous. "" is no caller.
	Principal string
	// Groups and Scopes are those that the caller's sign-in confirms, sorted and without duplicates. They only add
	// rights. They must not be modified.
	Groups, Scopes []string
}

// Roles are the groups and scopes of an Identity, for requests whose principal is known.
type Roles struct {
	Groups []string `json:"groups,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// New returns an identity with sorted groups and scopes. Since they only add rights, groups and scopes without a valid
// name are dropped. It refuses a principal without a valid name, and more than 512 groups or scopes.
func New(principal string, groups, scopes []string) (Identity, error) {
	if strings.HasPrefix(principal, groupPrefix) || strings.HasPrefix(principal, scopePrefix) {
		return Identity{}, fmt.Errorf("principal %.64q has the prefix of a group or scope", principal)
	}
	if err := checkName(principal, maxPrincipal); err != nil {
		return Identity{}, fmt.Errorf("principal: %w", err)
	}
	if len(groups) > maxNames || len(scopes) > maxNames {
		return Identity{}, fmt.Errorf("%d groups and %d scopes: a caller can have %d of each", len(groups), len(scopes), maxNames)
	}
	return Identity{Principal: principal, Groups: validNames(groups), Scopes: validNames(scopes)}, nil
}

// Of returns the identity of a principal with roles of an earlier Identity.
func Of(principal string, r Roles) Identity {
	return Identity{Principal: principal, Groups: r.Groups, Scopes: r.Scopes}
}

// Roles returns the groups and scopes.
func (i Identity) Roles() Roles { return Roles{Groups: i.Groups, Scopes: i.Scopes} }

// validNames returns the valid names, sorted and without duplicates.
func validNames(names []string) []string {
	valid := make([]string, 0, len(names))
	for _, name := range names {
		if checkName(name, maxName) == nil {
			valid = append(valid, strings.Clone(name))
		}
	}
	slices.Sort(valid)
	return slices.Compact(valid)
}

// checkName refuses names that people cannot tell from others.
func checkName(name string, size int) error {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' }
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case len(name) > size:
		return fmt.Errorf("the name has %d bytes, of at most %d", len(name), size)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %.64q is not UTF-8", name)
	case !norm.NFC.IsNormalString(name):
		return fmt.Errorf("the name %.64q is not in Unicode normalization form C", name)
	case strings.ContainsFunc(name, hidden):
		return fmt.Errorf("the name %.64q has an invisible character", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the name %.64q begins or ends with a space", name)
	}
	return nil
}
