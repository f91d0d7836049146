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

// Source is where a value is.
type Source struct {
	Kind Kind
	Name string // of a variable, a file, or an entry of the keyring as SERVICE/USER
}

// Kind is one of the places that values are read from.
type Kind string

// The kinds of a Source.
const (
	Env     Kind = "env"
	File    Kind = "file"
	Keyring Kind = "keyring"
)

// ParseSource reads "env NAME", "file PATH" or "keyring SERVICE/USER".
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

// String writes what ParseSource reads.
func (s Source) String() string { return string(s.Kind) + " " + s.Name }

// ErrUnset is in the chain of the error of a value that is not there.
var ErrUnset = errors.New("it is not set")

// Read returns the value, without the line ends that a file ends with. A value is one line of visible
// text: it goes into a header. ~/ is home.
func (s Source) Read(home string) (string, error) {
	value, err := s.read(home)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	value = strings.TrimRight(value, "\r\n")
	if value == "" && s.Kind == Env {
		return "", fmt.Errorf("%s: %w", s, ErrUnset)
	}
	if err := Check(value); err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	return value, nil
}

// errNoFile says that a file is not there, which is something else than a name that nobody has set.
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
		return "", errors.New("the keyring cannot be read") // its errors may hold what was asked
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
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // before Open, which waits at a pipe
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
