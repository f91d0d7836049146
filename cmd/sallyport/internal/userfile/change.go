// Package userfile replaces files of this user atomically, creates owner-only folders, and reads and rotates the key
// files that seal continuations.
//
//	_, err := userfile.Change(file, edit, userfile.Options{Backup: true})
//
// Change detects that another program changed the file between its read and its write.
package userfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

const (
	// maxFile is the largest file in bytes; some clients keep their whole history in the file that names their servers.
	maxFile = 64 << 20
	// maxLinks is the longest chain of symbolic links.
	maxLinks = 16
)

// ErrMeanwhile is returned when another program changed the file between read and write.
var ErrMeanwhile = errors.New("the file was changed meanwhile: nothing was written, try again")

// Options configure Change. The zero value is usable.
type Options struct {
	// Backup keeps a copy of the old file beside it.
	Backup bool
	// Fleeting skips the sync to disk, for files that describe a running process.
	Fleeting bool
}

// Change replaces the content of a file with the result of edit, and returns the name of the backup, "" if there is
// none. A missing file is nil to edit; it is created owner-only, with its parent folders. Symbolic links are followed:
// their target is replaced or created. On an error of edit, which is returned as it is, and on ErrMeanwhile nothing is
// written.
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

// Replace replaces the content of a file atomically and durably. The file must exist; its mode stays. Links are not
// followed.
func Replace(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return replace(file, text, info.Mode().Perm(), Options{}, nil)
}

// Read returns the content of a file after following links as Change does, nil if it does not exist.
func Read(file string) ([]byte, error) {
	file, err := followed(file)
	if err != nil {
		return nil, err
	}
	text, _, err := read(file)
	return text, err
}

// same returns ErrMeanwhile if the content of a file changed.
func same(file string, old []byte) error {
	now, _, err := read(file)
	if err == nil && (!bytes.Equal(now, old) || (now == nil) != (old == nil)) {
		err = ErrMeanwhile
	}
	return err
}

// followed resolves the symbolic links of a file name.
func followed(file string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(file)
		if err != nil {
			return file, nil // no link, or no file
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return "", fmt.Errorf("%s: too many links", file)
}

// read returns the content of a file, nil if it does not exist, and the mode for its replacement.
func read(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file) // before Open, which blocks on a named pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // a device would be replaced by a file
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

// replace writes a temporary file beside the target and renames it over the target, unless check, which may be nil,
// returns an error.
func replace(file string, text []byte, mode fs.FileMode, o Options, check func() error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(text)
	if err == nil && !o.Fleeting {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil && check != nil {
		defer turn(filepath.Dir(file))()
		err = check()
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

const (
	turnPause = time.Millisecond // between two attempts at a turn
	maxTurns  = 5000             // attempts: a check and a rename take less than a millisecond
)

// turn waits until no other process of this program is between its check and its rename of a file in a folder, and
// returns the function that ends the turn. Where the file system has no locks, or another program keeps one, there
// are no turns, and the check alone finds what changed.
func turn(dir string) (end func()) {
	open := os.Open
	if runtime.GOOS == "windows" {
		open = standIn
	}
	f, err := open(dir)
	if err != nil {
		return func() {}
	}
	for range maxTurns {
		if free, err := filelock.Try(f); free || err != nil {
			break
		}
		time.Sleep(turnPause)
	}
	return func() { _ = f.Close() } // ends the lock as well
}

// standIn opens an empty file in the temporary folder of this user, which is locked in place of a folder: Windows locks
// no folders.
func standIn(dir string) (*os.File, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("sallyport-%x.turn", sha256.Sum256([]byte(strings.ToLower(dir))))
	return os.OpenFile(filepath.Join(os.TempDir(), name), os.O_RDWR|os.O_CREATE, 0o600)
}
