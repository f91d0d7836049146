package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/filemode"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
	// minLocal is the minimum length of a local token in its file. A shorter one was truncated or typed.
	minLocal = 32
)

// Load reads a tokens file. It must be a regular, owner-only file.
func Load(path string) (*Tokens, error) {
	data, err := readPrivate(path, maxFile)
	if err != nil {
		return nil, err
	}
	t, err := Parse(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("tokens file %q: %w", path, err)
	}
	return t, nil
}

// Add makes a token for name, appends its line to the tokens file, and returns the token, which is not stored. The
// file is created if necessary.
func Add(path, name string) (token string, err error) {
	t, err := Load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token = New()
	if _, err := t.With(name, token); err != nil {
		return "", err
	}
	if err := appendLine(path, Line(name, token)); err != nil {
		return "", fmt.Errorf("tokens file: %w", err)
	}
	return token, nil
}

func appendLine(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lineStart(f) + line + "\n")
	return errors.Join(err, f.Close())
}

// lineStart returns a line end if the file lacks its last one.
func lineStart(f *os.File) string {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
		return "\n"
	}
	return ""
}

// Local returns the token for programs on this machine, from its file. The first use creates it. It is safe for
// concurrent use by several processes: all get the same token.
func Local(path string) (token string, created bool, err error) {
	token, err = readLocal(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	token = New()
	err = create(path, token+"\n")
	if errors.Is(err, fs.ErrExist) { // another process was faster
		token, err = readLocal(path)
		return token, false, err
	}
	if err != nil {
		return "", false, fmt.Errorf("local token: %w", err)
	}
	return token, true, nil
}

func readLocal(path string) (string, error) {
	data, err := readPrivate(path, maxToken+2)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minLocal || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%q holds no token: remove it, and a new one is made", path)
	}
	return token, nil
}

// create writes a new file atomically. It fails if path exists.
func create(path, content string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".token-*") // its mode is 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(content)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	err = os.Link(tmp.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return createPlain(path, content) // the file system has no hard links
}

func createPlain(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// maxSecret bounds a secret in a file, in bytes.
const maxSecret = 4 << 10

// ReadSecret returns the secret in an owner-only file of one line.
func ReadSecret(path string) (string, error) {
	data, err := readPrivate(path, maxSecret)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(data), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("%q holds no secret of one line", path)
	}
	return secret, nil
}

// readPrivate reads an owner-only file of at most limit bytes.
func readPrivate(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which blocks on a named pipe
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%q is not a regular file", path)
	case !filemode.Private(info):
		return nil, fmt.Errorf("%q is open to other users (mode %04o): chmod 600 it", path, mode.Perm())
	case info.Size() > limit:
		return nil, fmt.Errorf("%q is larger than %d bytes", path, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
