package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxFile bounds a client's file; some keep their whole history in it.
const maxFile = 64 << 20

// maxLinks bounds how many links lead to a client's file.
const maxLinks = 16

// ErrMeanwhile says that another program wrote the file while it was changed here.
var ErrMeanwhile = errors.New("the file was changed meanwhile, by the client perhaps: nothing was written, try again")

// Write puts the entry into file, whole or not at all, and returns the name of the backup, "" if the file is new.
// Errors are those of Merge, and ErrMeanwhile.
func (c Client) Write(file, name string, s Server, replace bool) (backup string, err error) {
	return c.change(file, func(old []byte) ([]byte, error) { return c.Merge(old, name, s, replace) })
}

// Delete takes the entry out of file, whole or not at all, and returns the name of the backup. Errors are those of
// Remove, and ErrMeanwhile.
func (c Client) Delete(file, name string) (backup string, err error) {
	return c.change(file, func(old []byte) ([]byte, error) { return c.Remove(old, name) })
}

func (c Client) change(file string, edit func([]byte) ([]byte, error)) (backup string, err error) {
	if file, err = followed(file); err != nil {
		return "", err
	}
	old, mode, err := read(file)
	if err != nil {
		return "", err
	}
	if mode&0o200 == 0 {
		return "", fmt.Errorf("%s is read-only; make it writable, or add the entry that is printed without --write by hand", file)
	}
	text, err := edit(old)
	var taken *TakenError
	if errors.Is(err, ErrUnchanged) || errors.Is(err, ErrNoEntry) || errors.As(err, &taken) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if old != nil {
		backup = file + ".bak-" + time.Now().UTC().Format("20060102T150405.000")
		if err := replace(backup, old, mode, nil); err != nil {
			return "", err
		}
	}
	err = replace(file, text, mode, func() error {
		now, _, err := read(file)
		if err == nil && !bytes.Equal(now, old) || (now == nil) != (old == nil) {
			err = ErrMeanwhile
		}
		return err
	})
	if err != nil && backup != "" {
		err = errors.Join(err, os.Remove(backup))
		backup = ""
	}
	return backup, err
}

// followed is the file that a name leads to over links: they stay, and the file they lead to is changed, or made.
func followed(file string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(file)
		if err != nil {
			return file, nil // no link, or nothing
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return "", fmt.Errorf("%s: too many links", file)
}

// read returns the bytes of file, nil if it does not exist, and the mode to write it with.
func read(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file) // before Open, which would wait at a named pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // and a device would be replaced by a file
		return nil, 0, fmt.Errorf("%s: not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", file, maxFile>>20)
	}
	return append([]byte{}, text...), info.Mode().Perm(), err
}

// replace writes a file beside its place and moves it there, if check, which may be nil, has nothing against it.
func replace(file string, text []byte, mode fs.FileMode, check func() error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when the move succeeded
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
