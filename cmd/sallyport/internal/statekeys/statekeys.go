// Package statekeys keeps the keys that seal the calls which wait for an answer, in a file of one key a line.
package statekeys

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs/landing"
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
)

const (
	// maxFile bounds a file of keys, in bytes: sixteen keys with a remark each.
	maxFile = 16 << 10
	// ownAge is how old this host's own key gets. The one before opens for as long again.
	ownAge = 30 * 24 * time.Hour
)

// followEvery is the time between two looks at the file of a host that runs.
const followEvery = time.Minute

// A File holds keys, and is read again when it changes.
type File struct {
	path string
	own  bool // this host makes and renews it
	keys *sealed.Keys
	seen []byte
}

// Shared reads the keys of a file that the operator names, which hosts behind one address share.
func Shared(path string) (*File, error) {
	f, err := open(path, false)
	if err != nil {
		err = voice.Hint(err, "a key is one line of base64, 32 bytes or more: head -c 32 /dev/urandom | base64")
	}
	return f, err
}

// Own are the keys of the hosts of one state folder, in a file that is made when it is not there, and has a new key every
// thirty days.
func Own(path string) (*File, error) { return open(path, true) }

func open(path string, own bool) (*File, error) {
	f := &File{path: path, own: own}
	return f, f.look(context.Background())
}

// Keys are those of the file, also when it has changed since.
func (f *File) Keys() *sealed.Keys { return f.keys }

// Follow takes over what the file holds until stop is called. Failures are told, and then the keys stay.
func (f *File) Follow(ctx context.Context, failed func(error)) (stop func()) {
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

// look renews the file where it is this host's own, and reads it if it has changed.
func (f *File) look(ctx context.Context) error {
	if f.own {
		if err := renew(ctx, f.path); err != nil {
			return err
		}
	}
	data, err := content(f.path)
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

// content reads a file of keys, which only its owner may read.
func content(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is longer than %d bytes", file, maxFile)
	case private.OpenToOthers(info.Mode()):
		return nil, fmt.Errorf("%s can be read by others: chmod 600 %s", file, file)
	}
	return os.ReadFile(file)
}

// keysOf are the keys of a file with this content, the one that seals first. Empty lines and those that begin with #
// say nothing.
func keysOf(file string, data []byte) (*sealed.Keys, error) {
	secrets, err := parse(data)
	var keys *sealed.Keys
	if err == nil {
		keys, err = sealed.NewKeys(secrets...)
	}
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

// renew makes the key of a state folder, or a new one in front of it when it is old. One host at a time does, so that
// every key that a host has sealed with is in the file.
func renew(ctx context.Context, file string) error {
	if !due(file) {
		return nil
	}
	unlock, err := landing.LockFile(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if !due(file) { // another host was faster
		return nil
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := base64.StdEncoding.AppendEncode(nil, sealed.RandomKey())
	key = append(key, '\n')
	if last, _, _ := bytes.Cut(old, []byte{'\n'}); len(last) > 0 {
		key = append(append(key, last...), '\n')
	}
	return write(file, key)
}

// due tells that there is no file, or that its key is old.
func due(file string) bool {
	info, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) >= ownAge
}

// write writes a file beside the one that is meant, and puts it in its place when it is whole.
func write(file string, data []byte) error {
	next, err := os.CreateTemp(filepath.Dir(file), ".state-keys-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // which is gone already if it was renamed
	_, err = next.Write(data)
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}
