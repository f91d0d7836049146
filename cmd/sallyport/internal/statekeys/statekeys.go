// Package statekeys keeps the keys that seal the calls which wait for an answer, in a file of one key a line.
package statekeys

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
)

const (
	// maxFile bounds a file of keys, in bytes: sixteen keys with a remark each.
	maxFile = 16 << 10
	// ownAge is how old this host's own key gets. The one before opens for as long again.
	ownAge = 30 * 24 * time.Hour
)

// Shared reads the keys of a file that the operator names, which hosts behind one address share.
func Shared(file string) (*sealed.Keys, error) {
	keys, err := read(file)
	if err != nil {
		err = voice.Hint(err, "a key is one line of base64, 32 bytes or more: head -c 32 /dev/urandom | base64")
	}
	return keys, err
}

// Own are the keys of this host alone, in a file that is made when it is not there.
func Own(file string) (*sealed.Keys, error) {
	if err := renew(file); err != nil {
		return nil, err
	}
	return read(file)
}

// read reads a file of keys, the one that seals first. Empty lines and those that begin with # say
// nothing.
func read(file string) (*sealed.Keys, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is longer than %d bytes", file, maxFile)
	case private.OpenToOthers(info.Mode()):
		return nil, fmt.Errorf("%s can be read by others: chmod 600 %s", file, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	secrets, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	keys, err := sealed.NewKeys(secrets...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keys, nil
}

func parse(data []byte) (secrets [][]byte, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		secret, err := base64.StdEncoding.AppendDecode(nil, line)
		if err != nil {
			return nil, fmt.Errorf("line %d is not base64", n)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// renew makes this host's own key, or a new one in front of it when it is old. Two hosts that do so
// at once end with the same file: what is not there is made by one of them, and what is old is replaced
// whole.
func renew(file string) error {
	key := base64.StdEncoding.AppendEncode(nil, sealed.RandomKey())
	key = append(key, '\n')
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(file, key)
	case err != nil || time.Since(info.ModTime()) < ownAge:
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	last, _, _ := bytes.Cut(old, []byte{'\n'})
	return write(file, append(append(key, last...), '\n'), os.Rename)
}

// create writes a file that is not there, or leaves the one that another host has just written.
func create(file string, key []byte) error {
	err := write(file, key, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// write writes a file beside the one that is meant, and puts it in its place when it is whole.
func write(file string, data []byte, place func(from, to string) error) error {
	next, err := os.CreateTemp(filepath.Dir(file), ".state-keys-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // which is gone already if it was renamed
	_, err = next.Write(data)
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	return place(next.Name(), file)
}
