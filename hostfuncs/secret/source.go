package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"
)

// maxValue bounds a secret, in bytes: a key or a token, not a document.
const maxValue = 64 << 10

// Source is the place of a value.
type Source struct {
	Kind Kind
	Name string // name of a variable, path of a file, or SERVICE/USER of a keyring entry
}

// Kind is a kind of place.
type Kind string

// The kinds of a Source.
const (
	Env     Kind = "env"
	File    Kind = "file"
	Keyring Kind = "keyring"
)

// ParseSource parses "env NAME", "file PATH" or "keyring SERVICE/USER".
func ParseSource(text string) (Source, error) {
	kind, name, _ := strings.Cut(text, " ")
	s := Source{Kind: Kind(kind), Name: strings.TrimSpace(name)}
	service, user, pair := strings.Cut(s.Name, "/")
	switch {
	case s.Kind == Env && s.Name != "" && !strings.ContainsAny(s.Name, "= "),
		s.Kind == File && (strings.HasPrefix(s.Name, "~/") || filepath.IsAbs(s.Name)),
		s.Kind == Keyring && pair && service != "" && user != "":
		return s, nil
	}
	return s, fmt.Errorf("%q says not where the value is: write env NAME, file ~/PATH or keyring SERVICE/USER", text)
}

// String returns the source in the syntax of ParseSource.
func (s Source) String() string { return string(s.Kind) + " " + s.Name }

// ErrUnset is wrapped by the error for a value that does not exist.
var ErrUnset = errors.New("it is not set")

// Read returns the value, without trailing line ends of its file. A value is one line of visible text, because it is
// sent in a header. home replaces ~/ in a path.
func (s Source) Read(home string) (string, error) {
	value, err := s.read(home)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	value = strings.TrimRight(value, "\r\n")
	if value == "" && s.Kind == Env {
		return "", fmt.Errorf("%s: %w", s, ErrUnset)
	}
	if err := check(value); err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	return value, nil
}

// errNoFile reports a missing file, as opposed to a name without a value.
var errNoFile = errors.New("there is no such file")

func (s Source) read(home string) (string, error) {
	switch s.Kind {
	case Env:
		return os.Getenv(s.Name), nil
	case File:
		return readFile(s.Name, home)
	}
	service, user, _ := strings.Cut(s.Name, "/")
	value, err := keyring.Get(service, user)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrUnset
	}
	if err != nil {
		return "", errors.New("the keyring cannot be read") // the original error may contain the request
	}
	return value, nil
}

func readFile(name, home string) (string, error) {
	shown := name
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home == "" {
			return "", errors.New("there is no home folder")
		}
		name = filepath.Join(home, rest)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // before Open, which blocks on a pipe
		return "", errors.New("it is no regular file")
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", errNoFile
	}
	if errors.Is(err, os.ErrPermission) {
		return "", errors.New("this user may not read it")
	}
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	if err := closed(shown, info.Mode()); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValue+2))
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	return string(data), nil
}
