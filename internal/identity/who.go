package identity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// everyone matches all callers.
const everyone = "all"

// Who is a set of callers. It is immutable; the zero value is empty.
type Who struct {
	all                        bool
	principals, groups, scopes []string
}

// ParseWho parses the names of a set of callers. A name is a principal, such as token:ann, or group:NAME, or scope:NAME,
// or all. Who holds callers with one of the names.
func ParseWho(names []string) (Who, error) {
	if len(names) == 0 {
		return Who{}, errors.New("no caller is named")
	}
	var w Who
	for _, name := range names {
		if err := w.add(name); err != nil {
			return Who{}, err
		}
	}
	return w, nil
}

func (w *Who) add(name string) error {
	list, size := &w.principals, maxPrincipal
	text, isGroup := strings.CutPrefix(name, groupPrefix)
	if isGroup {
		list, size = &w.groups, maxName
	} else if text, _ = strings.CutPrefix(name, scopePrefix); text != name {
		list, size = &w.scopes, maxName
	}
	if err := checkName(text, size); err != nil {
		return err
	}
	switch {
	case name == everyone:
		w.all = true
		return nil
	case text == name && !strings.Contains(name, ":") && name != Anonymous && name != "cli":
		return fmt.Errorf("%.64q names no caller: write a principal such as token:ann, group:NAME, scope:NAME or all", name)
	}
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
	return nil
}

// Has reports whether a caller is in the set.
func (w Who) Has(id Identity) bool {
	if w.all || slices.Contains(w.principals, id.Principal) {
		return true
	}
	return anyOf(w.groups, id.Groups) || anyOf(w.scopes, id.Scopes)
}

// anyOf reports whether one of names is in a sorted list.
func anyOf(names, sorted []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(sorted, name)
		return found
	})
}

// Includes reports whether all callers with a name of ParseWho are in the set.
func (w Who) Includes(name string) bool {
	if text, is := strings.CutPrefix(name, groupPrefix); is {
		return w.Has(Identity{Groups: []string{text}})
	}
	if text, is := strings.CutPrefix(name, scopePrefix); is {
		return w.Has(Identity{Scopes: []string{text}})
	}
	return w.Has(Identity{Principal: name})
}

// Groups returns the groups that the set names.
func (w Who) Groups() []string { return slices.Clone(w.groups) }

// Scopes returns the scopes that the set names.
func (w Who) Scopes() []string { return slices.Clone(w.scopes) }

// String returns the names. Equal texts are equal sets: a name with a comma or a quote is quoted.
func (w Who) String() string {
	var names []string
	if w.all {
		names = append(names, everyone)
	}
	names = append(names, w.principals...)
	for _, name := range w.groups {
		names = append(names, groupPrefix+name)
	}
	for _, name := range w.scopes {
		names = append(names, scopePrefix+name)
	}
	for i, name := range names {
		if strings.ContainsAny(name, `,"`) {
			names[i] = strconv.Quote(name)
		}
	}
	return strings.Join(names, ", ")
}
