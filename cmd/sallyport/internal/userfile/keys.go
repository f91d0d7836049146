package userfile

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/internal/filemode"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

const (
	// maxKeyFile is the limit of a key file in bytes, enough for sixteen keys with comments.
	maxKeyFile = 16 << 10
	// ownAge is the age at which a host's own key is rotated. The previous key stays valid for unsealing as long again.
	ownAge = 30 * 24 * time.Hour
)

// followEvery is the interval at which a running host checks the file.
const followEvery = time.Minute

// KeyFile is a file with one base64 key per line. It is read again when it changes.
type KeyFile struct {
	path string
	own  bool // this host creates and rotates it
	keys *sealed.Keys
	seen []byte
}

// SharedKeys reads a key file of the operator, shared by hosts behind one address.
func SharedKeys(path string) (*KeyFile, error) {
	f, err := openKeys(path, false)
	if err != nil {
		err = ui.Hint(err, "a key is one line of base64, 32 bytes or more: head -c 32 /dev/urandom | base64")
	}
	return f, err
}

// OwnKeys reads the key file of a state folder, shared by its hosts. It creates a missing file and adds a new key every
// thirty days.
func OwnKeys(path string) (*KeyFile, error) { return openKeys(path, true) }

func openKeys(path string, own bool) (*KeyFile, error) {
	f := &KeyFile{path: path, own: own}
	return f, f.look(context.Background())
}

// Keys returns the keys of the file. The value is updated in place when the file changes.
func (f *KeyFile) Keys() *sealed.Keys { return f.keys }

// Follow updates the keys when the file changes, until stop is called. On failure the keys stay, and failed is called.
func (f *KeyFile) Follow(ctx context.Context, failed func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := f.look(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// look rotates the key if the file is this host's own, and reads the file if it changed.
func (f *KeyFile) look(ctx context.Context) error {
	if f.own {
		if err := renewKey(ctx, f.path); err != nil {
			return err
		}
	}
	data, err := KeyFileContent(f.path)
	if err != nil || f.keys != nil && bytes.Equal(data, f.seen) {
		return err
	}
	keys, err := keysOf(f.path, data)
	switch {
	case err != nil:
		return err
	case f.keys == nil:
		f.keys = keys
	default:
		f.keys.Replace(keys)
	}
	f.seen = data
	return nil
}

// KeyFileContent reads a file of keys, which must be owner-only and is at most 16 KiB long.
func KeyFileContent(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !filemode.Private(info) {
		err = fmt.Errorf("%s can be read by others: chmod 600 %s", file, file)
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(content) > maxKeyFile {
		err = fmt.Errorf("%s is longer than %d bytes", file, maxKeyFile)
	}
	return content, err
}

// keysOf parses a key file; the first key is the one that seals. Empty lines and those that begin with # are ignored.
func keysOf(file string, data []byte) (*sealed.Keys, error) {
	secrets, err := parseKeys(data)
	var keys *sealed.Keys
	if err == nil {
		keys, err = sealed.NewKeys(secrets...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keys, nil
}

func parseKeys(data []byte) (secrets [][]byte, err error) {
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

// renew creates the key file of a state folder, or adds a new first key if it is due. A lock serialises hosts, so that
// every key that a host has sealed with is in the file.
func renewKey(ctx context.Context, file string) error {
	if !keyDue(file) {
		return nil
	}
	unlock, err := commit.LockFile(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if !keyDue(file) { // another host was first
		return nil
	}
	_, err = Change(file, func(old []byte) ([]byte, error) {
		key := base64.StdEncoding.AppendEncode(nil, sealed.RandomKey())
		key = append(key, '\n')
		if last, _, _ := bytes.Cut(old, []byte{'\n'}); len(last) > 0 {
			key = append(append(key, last...), '\n')
		}
		return key, nil
	}, Options{})
	return err
}

// due reports whether the file is missing or empty, or its key is due for rotation.
func keyDue(file string) bool {
	info, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist) || err == nil && (info.Size() == 0 || time.Since(info.ModTime()) >= ownAge)
}
