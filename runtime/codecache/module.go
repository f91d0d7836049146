package codecache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
)

const (
	// modules is the folder of outlines of rewritten modules.
	modules = "modules"
	// maxModule bounds a file of it, in bytes: a module of the largest size, rewritten.
	maxModule = 1 << 30
	// moduleFormat begins each file.
	moduleFormat = "sallyport module 3\n"

	seals  = len(moduleFormat) + 2*sha256.Size
	prefix = seals + 2*8
)

// ErrOtherVersion is the error for a module that another version of the program wrote.
var ErrOtherVersion = errors.New("written by another version")

// ErrChanged is the error for a module whose file is damaged, or belongs to another digest.
var ErrChanged = errors.New("the file is not as it was written")

// Module returns the outline of the rewritten module with this digest, and the facts kept with it, as PutModule stored
// them under the same version. It never returns other bytes, unless someone forged them: the file is owner-only, and
// sealed with a hash of the digest, the version and the sums of its contents. An error that is not fs.ErrNotExist has a
// reason for the log.
//
//	moduleFormat · SHA-256 of the version · seal · sizes of facts and wasm, 8 bytes each · facts · wasm
func (f Folder) Module(digest, version string) (facts, wasm []byte, err error) {
	file, err := openUsed(f.moduleFile(digest))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	var head [prefix]byte
	if _, err := io.ReadFull(file, head[:]); err != nil || string(head[:len(moduleFormat)]) != moduleFormat {
		return nil, nil, ErrChanged
	}
	made := headOf(digest, version, nil, nil)
	if string(head[:seals-sha256.Size]) != string(made[:seals-sha256.Size]) {
		return nil, nil, ErrOtherVersion
	}
	n, m := binary.LittleEndian.Uint64(head[seals:]), binary.LittleEndian.Uint64(head[seals+8:])
	if n > maxModule || m > maxModule || uint64(info.Size()) != uint64(prefix)+n+m {
		return nil, nil, ErrChanged
	}
	facts, wasm = make([]byte, n), make([]byte, m) // apart, since the facts are let go
	for _, part := range [][]byte{facts, wasm} {
		if _, err := io.ReadFull(file, part); err != nil {
			return nil, nil, err
		}
	}
	if headOf(digest, version, facts, wasm) != head {
		return nil, nil, ErrChanged
	}
	return facts, wasm, nil
}

// HasModule reports whether there is a file for this digest and version. Module may still refuse it.
func (f Folder) HasModule(digest, version string) bool {
	file, err := openOwn(f.moduleFile(digest))
	if err != nil {
		return false
	}
	defer file.Close()
	var head [seals - sha256.Size]byte
	_, err = io.ReadFull(file, head[:])
	made := headOf(digest, version, nil, nil)
	return err == nil && string(head[:]) == string(made[:len(head)])
}

// headOf returns the first bytes of a module's file.
func headOf(digest, version string, facts, wasm []byte) (head [prefix]byte) {
	v := sha256.Sum256([]byte(version))
	out := append(head[:0], moduleFormat...)
	out = append(out, v[:]...)
	sizes := head[seals:seals]
	sizes = binary.LittleEndian.AppendUint64(sizes, uint64(len(facts)))
	sizes = binary.LittleEndian.AppendUint64(sizes, uint64(len(wasm)))
	h := sha256.New()
	fmt.Fprintf(h, "%s%q%s %x %x", out, digest, sizes, xxhash.Sum64(facts), xxhash.Sum64(wasm))
	h.Sum(out)
	return head
}

func (f Folder) moduleFile(digest string) string { return filepath.Join(string(f), modules, digest) }

// openOwn opens a file if it is a regular file, owned by the current user and not writable by others.
func openOwn(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file (a link is not followed)")
	case !ownedByUs(info):
		return nil, errors.New("the file belongs to another user")
	case hasFileModes && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write to the file (mode %04o)", info.Mode().Perm())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		file.Close()
		return nil, ErrChanged
	}
	return file, nil
}

// openUsed opens a file of one's own, and records its use.
func openUsed(path string) (*os.File, error) {
	file, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil {
		touch(path, info)
	}
	return file, nil
}

// PutModule stores the outline of a rewritten module under its digest, and facts of it, for a version of the program.
// The file is replaced atomically.
func (f Folder) PutModule(digest, version string, facts, wasm []byte) error {
	if len(facts) > maxModule || len(wasm) > maxModule {
		return errors.New("the module is too large to be kept")
	}
	head := headOf(digest, version, facts, wasm)
	return replace(f.moduleFile(digest), func(w *os.File) error {
		for _, part := range [][]byte{head[:], facts, wasm} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// replace writes a file, owner-only, in place of another one or none. After an error that is unchanged.
func replace(path string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // created with mode 0600
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
