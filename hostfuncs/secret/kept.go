package secret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"
)

// keyringService is the keyring service for values that are set by name.
const keyringService = "sallyport"

// Kept stores values that a person sets by name: in the keyring of the operating system or, if there is none, in
// owner-only files of a folder.
type Kept struct {
	Dir string // the folder, created on demand; empty means the keyring only
}

// Check validates a value to be stored: one line of visible text, not empty, and at most 64 KiB.
func Check(value string) error {
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
	value, err := Source{Kind: Keyring, Name: keyringService + "/" + name}.Read("")
	if err == nil || k.Dir == "" {
		return value, err
	}
	data, err := readFile(k.file(name), "")
	if errors.Is(err, errNoFile) {
		return "", ErrUnset
	}
	if err != nil {
		return "", fmt.Errorf("the secret %s: %w", name, err)
	}
	data = strings.TrimRight(data, "\r\n")
	return data, Check(data)
}

// Set stores a value, replacing an earlier one, and returns its place: "the keyring", or a file.
func (k Kept) Set(name, value string) (where string, err error) {
	if !ValidName(name) {
		return "", fmt.Errorf("%q is no name of a secret: write letters, digits, _ . and -", name)
	}
	if err := Check(value); err != nil {
		return "", err
	}
	if keyring.Set(keyringService, name, value) == nil {
		if k.Dir == "" {
			return "the keyring", nil
		}
		if err := os.Remove(k.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		return "the keyring", nil
	}
	if k.Dir == "" {
		return "", errors.New("the keyring cannot be used")
	}
	return k.file(name), k.write(name, value)
}

// Remove deletes a value. The error is ErrUnset if there is none.
func (k Kept) Remove(name string) error {
	ring, file := keyring.Delete(keyringService, name), os.ErrNotExist
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

// ending is the suffix of the files in the folder.
const ending = ".secret"

// file returns the path of a value. Its suffix ensures that the name is not that of a folder.
func (k Kept) file(name string) string { return filepath.Join(k.Dir, name+ending) }

func (k Kept) write(name, value string) error {
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(k.Dir, "new-*") // owner-only
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails if the rename succeeded
	_, err = tmp.WriteString(value)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), k.file(name))
}
