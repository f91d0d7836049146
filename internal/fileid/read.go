package fileid

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFile limits a plugin file, in bytes; the largest known, interpreters with their libraries, have some 50 MiB.
const maxFile = 128 << 20

// ErrUnsettled is returned for a file that may still be being written.
var ErrUnsettled = errors.New("the file is still being written")

// Read reads a whole file that is not being written. The stamp is that of the bytes, or with ErrUnsettled the last one
// seen. Errors do not name the path.
func Read(path string) ([]byte, Stamp, error) { return read(path, nil) }

// read uses the memory of buf if the file fits.
func read(path string, buf []byte) ([]byte, Stamp, error) {
	info, err := os.Stat(path)
	if err == nil {
		_, err = from(path, info) // checked before opening: opening a pipe would block for ever
	}
	if err != nil {
		return nil, Stamp{}, Plain(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Stamp{}, Plain(err)
	}
	defer f.Close()
	before, err := opened(f, path)
	if err != nil {
		return nil, Stamp{}, Plain(err)
	}
	if before.Size > maxFile {
		return nil, before, fmt.Errorf("the file is over %d MiB", maxFile>>20)
	}
	if beingWritten(f) {
		return nil, before, ErrUnsettled
	}
	content := buf[:0]
	if int64(cap(buf)) < before.Size {
		content = make([]byte, before.Size)
	}
	content = content[:before.Size]
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, before, ErrUnsettled // shorter than its size
	}
	after, err := opened(f, path)
	if err != nil || after != before {
		return nil, before, ErrUnsettled
	}
	return content, after, nil
}

func opened(f *os.File, path string) (Stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return Stamp{}, err
	}
	return from(path, info)
}

// Plain strips the path from an error, for messages that name it already.
func Plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

const digestPrefix = "sha256:"

// Digest returns the SHA-256 of content: "sha256:" and lower-case hex.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// Hex returns the digits of a digest, and whether it is valid.
func Hex(digest string) (digits string, ok bool) {
	digits, ok = strings.CutPrefix(digest, digestPrefix)
	raw, err := hex.DecodeString(digits)
	return digits, ok && err == nil && len(raw) == sha256.Size && digits == strings.ToLower(digits)
}
