// Package textfile changes a file that belongs to a person or another program: whole or not at all, and never over a
// change that came in between.
//
//	_, err := textfile.Change(file, edit, textfile.Options{Backup: true})
package textfile

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

const (
	// maxFile bounds a file; some clients keep their whole history in the one that names their servers.
	maxFile = 64 << 20
	// maxLinks bounds how many links lead to a file.
	maxLinks = 16
)

// ErrMeanwhile says that another program wrote the file while it was changed here.
var ErrMeanwhile = errors.New("the file was changed meanwhile: nothing was written, try again")

// Options say how a file is changed. The zero value is usable.
type Options struct {
	// Backup keeps the bytes from before beside the file.
	Backup bool
	// Fleeting does not wait for the disk: what is written is about a process that runs.
	Fleeting bool
}

// Change puts what edit makes of the bytes of a file in their place, and returns the name of the backup, "" if there is
// none. A file that is not there is nil bytes; it is made for its owner alone, with the folders above it. Links stay: the
// file they lead to is changed, or made. Errors of edit are returned as they are, and then nothing is written;
// ErrMeanwhile: nor was it then.
func Change(file string, edit func(old []byte) ([]byte, error), o Options) (backup string, err error) {
	if file, err = followed(file); err != nil {
		return "", err
	}
	old, mode, err := read(file)
	if err != nil {
		return "", err
	}
	if mode&0o200 == 0 {
		return "", fmt.Errorf("%s is read-only; make it writable, or change it by hand", file)
	}
	text, err := edit(old)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if old != nil && o.Backup {
		backup = file + ".bak-" + time.Now().UTC().Format("20060102T150405.000")
		if err := replace(backup, old, mode, o, nil); err != nil {
			return "", err
		}
	}
	err = replace(file, text, mode, o, func() error { return same(file, old) })
	if err != nil && backup != "" {
		err = errors.Join(err, os.Remove(backup))
		backup = ""
	}
	return backup, err
}

// Read returns the bytes of a file as Change finds them, nil if it is not there.
func Read(file string) ([]byte, error) {
	file, err := followed(file)
	if err != nil {
		return nil, err
	}
	text, _, err := read(file)
	return text, err
}

// same reports ErrMeanwhile if a file holds other bytes.
func same(file string, old []byte) error {
	now, _, err := read(file)
	if err == nil && (!bytes.Equal(now, old) || (now == nil) != (old == nil)) {
		err = ErrMeanwhile
	}
	return err
}

// followed is the file that a name leads to over links.
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

// read returns the bytes of a file, nil if it does not exist, and the mode to write it with.
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
func replace(file string, text []byte, mode fs.FileMode, o Options, check func() error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when the move succeeded
	_, err = tmp.Write(text)
	if err == nil && !o.Fleeting {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
