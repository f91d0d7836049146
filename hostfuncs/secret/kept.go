package secret

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zalando/go-keyring"
)

// keyringService is the keyring service for values that are set by name.
const keyringService = "sallyport"

// Kept stores values that a person sets by name: in the keyring of the operating system or, if there is none, in
// owner-only files of a folder.
type Kept struct {
	Dir string // the folder, created on demand; empty means the keyring only

	principal string // whose values they are; "" is the host's
}

// For returns the values of one principal, which no other name reaches: not those of the host, of a different principal,
// or of the host under a different name. The principal is not empty.
func (k Kept) For(principal string) Kept {
	k.principal = principal
	return k
}

// entry returns the name of a value in the keyring and the folder. That of a principal has a character that no name of a
// secret has, and a digest of the whole principal.
func (k Kept) entry(name string) string {
	if k.principal == "" {
		return name
	}
	sum := sha256.Sum256([]byte(k.principal))
	return name + ofPrincipal + hex.EncodeToString(sum[:])
}

// ofPrincipal precedes the digest of a principal in an entry.
const ofPrincipal = "@"

// check validates a value to be stored: one line of visible text, not empty, and at most 64 KiB.
func check(value string) error {
	switch {
	case value == "":
		return errors.New("it is empty")
	case len(value) > maxValue:
		return fmt.Errorf("longer than %d bytes", maxValue)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("holds a control character or a line end")
	}
	return nil
}

// Get returns the value of a name. The error wraps ErrUnset if there is none.
func (k Kept) Get(name string) (string, error) {
	if !ValidName(name) {
		return "", ErrUnset
	}
	value, err := Source{Kind: Keyring, Name: keyringService + "/" + k.entry(name)}.Read("")
	if err == nil || k.Dir == "" {
		return value, err
	}
	return k.inFolder(name)
}

// inFolder is Get without the keyring.
func (k Kept) inFolder(name string) (string, error) {
	if !ValidName(name) {
		return "", ErrUnset
	}
	data, err := readFile(k.file(name), "")
	if errors.Is(err, errNoFile) {
		return "", ErrUnset
	}
	if err != nil {
		return "", fmt.Errorf("the secret %s: %w", name, err)
	}
	if k.principal != "" { // the file names it too, so that a renamed file is no value of a different one
		owner, rest, _ := strings.Cut(data, "\n")
		if owner != k.principal {
			return "", ErrUnset
		}
		data = rest
	}
	data = strings.TrimRight(data, "\r\n")
	return data, check(data)
}

// Set stores a value, replacing an earlier one, and returns its place: "the keyring", or a file.
func (k Kept) Set(name, value string) (where string, err error) {
	if !ValidName(name) {
		return "", fmt.Errorf("%q is no name of a secret: write letters, digits, _ . and -", name)
	}
	if err := check(value); err != nil {
		return "", err
	}
	if keyring.Set(keyringService, k.entry(name), value) == nil {
		if k.Dir == "" {
			return "the keyring", nil
		}
		if err := os.Remove(k.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		return "the keyring", k.change()
	}
	if k.Dir == "" {
		return "", errors.New("the keyring cannot be used")
	}
	return k.file(name), k.write(name, value)
}

// changed is the file of the folder with a text that is new after each Set in the keyring.
const changed = "changed"

// change has running hosts read the keyring again.
func (k Kept) change() error { return k.replace(filepath.Join(k.Dir, changed), rand.Text()) }

// stamp returns a text that changes with each Set in the keyring, and "" before the first.
func (k Kept) stamp() string {
	text, _ := os.ReadFile(filepath.Join(k.Dir, changed)) // one that cannot be read has never changed
	return string(text)
}

// Remove deletes a value. The error is ErrUnset if there is none.
func (k Kept) Remove(name string) error {
	ring, file := keyring.Delete(keyringService, k.entry(name)), os.ErrNotExist
	if k.Dir != "" && ValidName(name) {
		file = os.Remove(k.file(name))
	}
	switch {
	case file != nil && !errors.Is(file, os.ErrNotExist):
		return file
	case ring != nil && file != nil:
		return ErrUnset
	}
	return nil
}

// Names returns the names of the values in the folder, sorted. The keyring cannot list its names.
func (k Kept) Names() (names []string, err error) {
	if k.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(k.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ending); is && ValidName(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// Owned is the name of a value of one principal.
type Owned struct{ Name, Principal string }

// OfPrincipals returns the names of the values of principals in the folder, sorted by name and principal. The keyring
// cannot list its names.
func (k Kept) OfPrincipals() (all []Owned, err error) {
	if k.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(k.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		entry, is := strings.CutSuffix(e.Name(), ending)
		name, _, owned := strings.Cut(entry, ofPrincipal)
		if !is || !owned || !ValidName(name) {
			continue
		}
		data, err := readFile(filepath.Join(k.Dir, e.Name()), "")
		if principal, _, _ := strings.Cut(data, "\n"); err == nil && k.For(principal).entry(name) == entry {
			all = append(all, Owned{name, principal})
		}
	}
	slices.SortFunc(all, func(a, b Owned) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Principal, b.Principal))
	})
	return all, err
}

// ending is the suffix of the files in the folder.
const ending = ".secret"

// file returns the path of a value. Its suffix ensures that the name is not that of a folder.
func (k Kept) file(name string) string { return filepath.Join(k.Dir, k.entry(name)+ending) }

func (k Kept) write(name, value string) error {
	if k.principal != "" {
		value = k.principal + "\n" + value
	}
	return k.replace(k.file(name), value)
}

// replace writes a file of the folder, whole or not at all.
func (k Kept) replace(file, text string) error {
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(k.Dir, "new-*") // owner-only
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails if the rename succeeded
	_, err = tmp.WriteString(text)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
